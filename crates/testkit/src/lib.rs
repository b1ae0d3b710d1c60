//! Test support that depends on base alone: human keys, a model, the cursor conformance suite.
