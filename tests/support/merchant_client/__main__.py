"""Write the sources of the Python client and openapi.json: `PYTHONPATH=tests/support python -m merchant_client`."""

from merchant_client.generate import DOCUMENT, document_text, generated_sources

for path, text in generated_sources().items():
    path.write_text(text)
DOCUMENT.write_text(document_text())
