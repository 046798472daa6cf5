//! Runs of each target on its saved inputs and on some damaged ones: the short form of `make fuzz`.

use std::fs;

use foreseal_fuzz::{Mutator, TARGETS, corpus};

/// Damaged inputs per target.
const EXECUTIONS: usize = 3_000;

#[test]
fn every_saved_input_keeps_every_promise() {
    for target in TARGETS {
        let inputs = corpus::inputs(target.name).unwrap();
        assert!(inputs.len() > 3, "{} has only {} inputs", target.name, inputs.len());
        target.prepare();
        for input in &inputs {
            target.execute(input);
        }
        target.execute(&[]);
    }
}

#[test]
fn damaged_inputs_keep_every_promise() {
    for (seed, target) in (1..).zip(TARGETS) {
        let inputs = corpus::inputs(target.name).unwrap();
        target.prepare();
        let mut mutator = Mutator::new(seed);
        for _ in 0..EXECUTIONS {
            target.execute(&mutator.next(&inputs, target.longest));
        }
    }
}

#[test]
fn every_folder_of_inputs_has_a_target_and_is_small() {
    let mut bytes = 0;
    for folder in fs::read_dir(corpus::folder("")).unwrap() {
        let folder = folder.unwrap();
        for file in fs::read_dir(folder.path()).unwrap() {
            bytes += file.unwrap().metadata().unwrap().len();
        }
    }
    assert!(bytes < 1 << 20, "the saved inputs have {bytes} bytes");
}
