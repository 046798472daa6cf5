//! Writes the seed inputs of every target: `cargo run --release -p foreseal-fuzz --example seeds`.

fn main() {
    foreseal_fuzz::seeds::write();
}
