"""Gemini: generateContent with a key or the sign-in of its CLI."""
