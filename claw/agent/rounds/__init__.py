"""The tool rounds of a turn: run, journaled, watched for loops."""
