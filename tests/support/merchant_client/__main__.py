"""Write the generated sources of the clients: `PYTHONPATH=tests/support python -m merchant_client`."""

from merchant_client.generate import generated_sources

for path, text in generated_sources().items():
    path.write_text(text)
