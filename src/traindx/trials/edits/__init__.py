"""Changes of the source: one module each, named after the setting it makes true."""
