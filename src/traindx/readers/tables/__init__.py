"""Tables and JSON: cells, columns and rows in bounded memory."""
