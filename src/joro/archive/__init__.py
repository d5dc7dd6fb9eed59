"""How is every version kept and found again? WARC and CDXJ, append-only, the truth."""
