"""The formats: one module each, with a READER, a DIALECT of text logs, or both."""
