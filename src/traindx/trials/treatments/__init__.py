"""Changes made at run time: one module each, named after the setting it answers to."""
