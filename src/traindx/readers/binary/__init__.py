"""Binary formats: record framing, protobuf's wire format, checksums, sqlite."""
