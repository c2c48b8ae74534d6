"""Retry, endpoints and key pools, circuit breaker, routes, cached answers."""
