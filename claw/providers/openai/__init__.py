"""OpenAI's APIs: Chat Completions, Responses, and all who copy them."""
