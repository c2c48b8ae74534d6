"""The Agent Client Protocol, version 1, on stdio: an editor talks to the
agent.

    stdio    bytes to lines and back, on threads
    peer     JSON-RPC 2.0: requests both ways over those lines
    wire     the messages, as structs
    blocks   what a prompt is made of -> one message
    updates  what a turn tells -> session/update
    permission  a question to the owner -> session/request_permission
    session  one conversation
    server   the methods of the protocol

Source: agentclientprotocol.com, schema of version 1, read 2026-11.
"""
