"""What a worker asks: the claim, the beat, the end."""
