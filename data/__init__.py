"""What every other room reads: the response table, the protocol's prompts and the noun list."""
