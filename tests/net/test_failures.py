"""What kind of failure a refusal is: a table of what servers say."""

import json

import pytest

from claw.core.errors import (
    AuthError,
    BudgetError,
    ConfigError,
    ContextOverflowError,
    IncompleteAnswerError,
    OverloadedError,
    QuotaError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.net.errors import Peer, status_error, wire_error
from claw.net.failures import (
    Failure,
    classify,
    classify_error,
    find_title,
)

TITLE = "Acme"
CLASSES = {"auth": AuthError, "quota": QuotaError, "rate": RateLimitedError,
           "overload": OverloadedError,
           "context_overflow": ContextOverflowError,
           "bad_request": RequestRefusedError,
           "model_not_found": RequestRefusedError,
           "tool_schema": RequestRefusedError}


# What servers say when they refuse, and what it is: rows of (HTTP status or
# None, body or text, kind), by vendor. Ids and numbers are made up; the
# wording is the vendors'.


def oai(message, kind="invalid_request_error", code=None, **more):
    """The shape of OpenAI and most others."""
    return json.dumps({"error": {"message": message, "type": kind,
                                 "param": None, "code": code, **more}})


def ant(kind, message):
    return json.dumps({"type": "error",
                       "error": {"type": kind, "message": message},
                       "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy"})


def goo(code, status, message, *details):
    return json.dumps({"error": {"code": code, "message": message,
                                 "status": status,
                                 "details": list(details)}})


def mini(code, message):
    return json.dumps({"id": "0472", "choices": None, "base_resp": {
        "status_code": code, "status_msg": message}})


def page(title):
    return (f"<!DOCTYPE html><html><head><title>{title}</title></head><body>"
            "<h1>oops</h1>rate limit forbidden api key</body></html>")


RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo",
         "retryDelay": "34s"}


def violated(quota):
    return {"@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{
                "quotaMetric": "generativelanguage.googleapis.com/"
                               "generate_content_free_tier_requests",
                "quotaId": quota, "quotaValue": "10"}]}


OPENAI = [
    (401, oai("Incorrect API key provided: sk-abc***def. You can find your "
              "API key at https://platform.openai.com/account/api-keys.",
              code="invalid_api_key"), "auth"),
    (401, oai("You didn't provide an API key. You need to provide your API "
              "key in an Authorization header using Bearer auth."), "auth"),
    (401, oai("You must be a member of an organization to use the API",
              code="no_organization"), "auth"),
    (401, oai("Your authentication token has expired. Please try signing in "
              "again.", code="token_expired"), "auth"),
    (401, oai("You have insufficient permissions for this operation. Missing "
              "scopes: model.request."), "auth"),
    (401, oai("Too many failed requests: this key is blocked by a rate limit "
              "of 5 tries."), "auth"),
    (403, oai("Country, region, or territory not supported",
              "request_forbidden", "unsupported_country_region_territory"),
     "bad_request"),
    (403, oai("You are not allowed to sample from this model",
              "invalid_request_error"), "auth"),
    (403, oai("Project `proj_1` does not have access to model `gpt-4o`",
              code="model_not_found"), "model_not_found"),
    (404, oai("The model `gpt-9` does not exist or you do not have access to "
              "it.", code="model_not_found"), "model_not_found"),
    (404, oai("The model `gpt-4-0314` has been deprecated, learn more here: "
              "https://platform.openai.com/docs/deprecations",
              code="model_not_found"), "model_not_found"),
    (404, oai("Invalid URL (POST /v1/chat/completion)"), "bad_request"),
    (404, oai("This is not a chat model and thus not supported in the "
              "v1/chat/completions endpoint.", param="model"),
     "bad_request"),
    (400, oai("This model's maximum context length is 128000 tokens. However,"
              " your messages resulted in 130204 tokens. Please reduce the "
              "length of the messages.", code="context_length_exceeded"),
     "context_overflow"),
    (400, oai("Your input exceeds the context window of this model. Please "
              "adjust your input and try again.",
              code="context_length_exceeded"), "context_overflow"),
    (400, oai("Input tokens exceed the configured limit of 272000 tokens. "
              "Your messages resulted in 300021 tokens. Please reduce the "
              "length of the messages.", code="context_length_exceeded"),
     "context_overflow"),
    (400, oai("Invalid 'messages[1].content': string too long. Expected a "
              "string with maximum length 10485760, but got a string with "
              "length 12000000 instead.", code="string_above_max_length"),
     "context_overflow"),
    (400, oai("max_tokens is too large: 100000. This model supports at most "
              "16384 completion tokens, whereas you provided 100000.",
              code="invalid_value"), "bad_request"),
    (400, oai("Unsupported parameter: 'max_tokens' is not supported with "
              "this model. Use 'max_completion_tokens' instead.",
              code="unsupported_parameter"), "bad_request"),
    (400, oai("Unsupported value: 'temperature' does not support 0.2 with "
              "this model. Only the default (1) value is supported.",
              code="unsupported_value"), "bad_request"),
    (400, oai("Unrecognized request argument supplied: rate_limit"),
     "bad_request"),
    (400, oai("Invalid schema for function 'find': In context=(), 'required' "
              "is required to be supplied and to be an array including every "
              "key in properties.", code="invalid_function_parameters"),
     "bad_request"),
    (400, oai("An assistant message with 'tool_calls' must be followed by "
              "tool messages responding to each 'tool_call_id'."),
     "bad_request"),
    (400, oai("Your request was rejected as a result of our safety system.",
              code="content_policy_violation"), "bad_request"),
    (400, oai("Could not parse your JSON body: Unexpected token < at "
              "position 429"), "bad_request"),
    (400, oai("Invalid type for 'temperature': expected a number, but got a "
              "string instead.", code="invalid_type"), "bad_request"),
    (400, oai("Billing hard limit has been reached",
              code="billing_hard_limit_reached"), "quota"),
    (429, oai("You exceeded your current quota, please check your plan and "
              "billing details.", "insufficient_quota",
              "insufficient_quota"), "quota"),
    (429, oai("You exceeded your current quota, please check your plan and "
              "billing details.", "insufficient_quota",
              "credit_balance_exhausted"), "quota"),
    (429, oai("Your project has reached its monthly limit.",
              "insufficient_quota", "project_spend_limit_exceeded"),
     "quota"),
    (429, oai("Your account is not active, please check your billing details "
              "on our website.", "billing_not_active",
              "billing_not_active"), "quota"),
    (429, oai("Rate limit reached for gpt-4o in organization org-429a on "
              "requests per min (RPM): Limit 500, Used 500, Requested 1. "
              "Please try again in 120ms. Visit https://platform.openai.com"
              "/account/rate-limits to learn more. You can increase your "
              "rate limit by adding a payment method to your account at "
              "https://platform.openai.com/account/billing.", "requests",
              "rate_limit_exceeded"), "rate"),
    (429, oai("Rate limit reached for gpt-4o in organization org-x on tokens "
              "per min (TPM): Limit 30000, Used 29000, Requested 2000. "
              "Please try again in 2s.", "tokens", "rate_limit_exceeded"),
     "rate"),
    (429, oai("Rate limit reached for gpt-4o on tokens per day (TPD): Limit "
              "90000, Used 89999, Requested 50. Please try again in 7m12s.",
              "tokens", "rate_limit_exceeded"), "rate"),
    (429, oai("Request too large for gpt-4o in organization org-x on tokens "
              "per min (TPM): Limit 30000, Requested 48653. The input or "
              "output tokens must be reduced in order to run successfully.",
              "tokens", "rate_limit_exceeded"), "context_overflow"),
    (429, oai("The engine is currently overloaded, please try again later",
              "server_error"), "overload"),
    (429, oai("That model is currently overloaded with other requests. You "
              "can retry your request.", "server_error"), "overload"),
    (429, "", "rate"),
    (500, oai("The server had an error while processing your request. Sorry "
              "about that!", "server_error"), "server"),
    (500, oai("The server had an error processing your request. You can "
              "retry your request, or contact us through our help center if "
              "the error persists. (Please include the request ID "
              "req_429e401.)", "server_error"), "server"),
    (503, oai("Slow Down", "service_unavailable_error", "slow_down"),
     "overload"),
    (503, oai("The server is currently overloaded with other requests. Sorry "
              "about that!", "server_error"), "overload"),
    (None, "The usage limit has been reached", "quota"),
    (400, oai("Encrypted content could not be decrypted or parsed.",
              code="invalid_encrypted_content"), "bad_request"),
    (400, oai("Item 'rs_1' of type 'reasoning' was provided without its "
              "required following item."), "bad_request"),
    (400, oai("Tool choice 'required' must be specified with 'tools' "
              "parameter."), "bad_request"),
    (403, oai("Your organization must be verified to stream this model.",
              code="unsupported_value"), "auth"),
]

AZURE = [
    (401, '{"error":{"code":"401","message":"Access denied due to invalid '
          'subscription key or wrong API endpoint. Make sure to provide a '
          'valid key for an active subscription."}}', "auth"),
    (401, '{"statusCode": 401, "message": "Unauthorized. Access token is '
          'missing, invalid, audience is incorrect or has expired."}',
     "auth"),
    (401, '{"error":{"code":"PermissionDenied","message":"The principal '
          'lacks the required data action"}}', "auth"),
    (403, '{"error":{"code":"AuthenticationTypeDisabled","message":"Key '
          'based authentication is disabled for this resource."}}', "auth"),
    (403, '{"error":{"code":"403","message":"Out of call volume quota. Quota '
          'will be replenished in 09:22:13."}}', "quota"),
    (404, '{"error":{"code":"DeploymentNotFound","message":"The API '
          'deployment for this resource does not exist. If you created the '
          'deployment within the last 5 minutes, please wait a moment and '
          'try again."}}', "model_not_found"),
    (404, '{"error":{"code":"404","message": "Resource not found"}}',
     "bad_request"),
    (400, oai("unsupported API version", code="BadRequest"), "bad_request"),
    (400, oai("The response was filtered due to the prompt triggering Azure "
              "OpenAI's content management policy. Please modify your prompt "
              "and retry.", code="content_filter", innererror={
                  "code": "ResponsibleAIPolicyViolation"}), "bad_request"),
    (429, '{"error":{"code":"429","message":"Requests to the '
          'ChatCompletions_Create Operation under Azure OpenAI API version '
          '2024-02-01 have exceeded token rate limit of your current OpenAI '
          'S0 pricing tier. Please retry after 26 seconds. Please go here: '
          'https://aka.ms/oai/quotaincrease if you would like to further '
          'increase the default rate limit."}}', "rate"),
    (429, '{"error":{"code":"429","message":"Requests to the '
          'ChatCompletions_Create Operation under Azure OpenAI API version '
          '2024-02-01 have exceeded call rate limit of your current OpenAI '
          'S0 pricing tier. Please retry after 3 seconds."}}', "rate"),
    (429, '{"error":{"code":"429","message":"Rate limit is exceeded. Try '
          'again in 12 seconds."}}', "rate"),
    (429, oai("The system is currently experiencing high demand and cannot "
              "process your request. Your request exceeds the maximum usage "
              "size allowed during peak load.", code="too_many_requests"),
     "overload"),
    (408, '{"error":{"code":"Timeout","message":"The operation was timeout."'
          '}}', "timeout"),
    (500, '{"error":{"code":"InternalServerError","message":"Backend '
          'returned unexpected response. Please contact Microsoft for '
          'help."}}', "server"),
    (503, '{"error":{"code":"ServiceUnavailable","message":"The service is '
          'temporarily unable to process your request. Please try again '
          'later."}}', "overload"),
    (400, '{"error":{"code":"unavailable_model","message":"Unavailable '
          'model: gpt-9"}}', "model_not_found"),
    (413, '{"error":{"code":"tokens_limit_reached","message":"Request body '
          'too large for gpt-4o model. Max size: 8000 tokens."}}',
     "context_overflow"),
    (429, '{"error":{"code":"RateLimitReached","message":"Rate limit of 50 '
          'per 86400s exceeded for UserByModelByDay. Please wait 4321 '
          'seconds before retrying."}}', "rate"),
]

ANTHROPIC = [
    # LiteLLM without a database, whatever the wire
    (400, '{"error":{"message":"No connected db.","type":'
          '"no_db_connection","param":null,"code":"400"}}', "auth"),
    (401, ant("authentication_error", "invalid x-api-key"), "auth"),
    (401, ant("authentication_error", "Invalid bearer token"), "auth"),
    (401, ant("authentication_error", "OAuth token has expired. Please "
              "obtain a new token or refresh your existing token."), "auth"),
    (403, ant("permission_error", "Your API key does not have permission to "
              "use the specified resource."), "auth"),
    (403, ant("forbidden", "Request not allowed"), "auth"),
    (404, ant("not_found_error", "model: claude-9-opus"), "model_not_found"),
    (404, ant("not_found_error", "Not found"), "bad_request"),
    (400, ant("invalid_request_error", "prompt is too long: 210234 tokens > "
              "200000 maximum"), "context_overflow"),
    (400, ant("invalid_request_error", "input length and `max_tokens` exceed "
              "context limit: 190000 + 20000 > 200000, decrease input length "
              "or `max_tokens` and try again"), "context_overflow"),
    (413, ant("request_too_large", "Request exceeds the maximum size"),
     "context_overflow"),
    (400, ant("invalid_request_error", "Your credit balance is too low to "
              "access the Anthropic API. Please go to Plans & Billing to "
              "upgrade or purchase credits."), "quota"),
    (400, ant("invalid_request_error", "You have reached your specified API "
              "usage limits. You will regain access on 2026-12-01 at 00:00 "
              "UTC."), "quota"),
    (402, ant("billing_error", "Your organization has an unpaid invoice."),
     "quota"),
    (400, ant("invalid_request_error", "max_tokens: 128000 > 8192, which is "
              "the maximum allowed number of output tokens for "
              "claude-3-5-haiku"), "bad_request"),
    (400, ant("invalid_request_error", "messages.1: `tool_use` ids were found"
              " without `tool_result` blocks immediately after: toolu_1."),
     "bad_request"),
    (400, ant("invalid_request_error", "messages: text content blocks must "
              "be non-empty"), "bad_request"),
    (400, ant("invalid_request_error", "`temperature` may only be set to 1 "
              "when thinking is enabled."), "bad_request"),
    (400, ant("invalid_request_error", "tools.0.custom.input_schema: JSON "
              "schema is invalid. It must match JSON Schema draft 2020-12"),
     "bad_request"),
    (400, ant("invalid_request_error", "Output blocked by content filtering "
              "policy"), "bad_request"),
    (400, ant("invalid_request_error", "messages.0.content.1.image.source."
              "base64: image exceeds 5 MB maximum: 7340032 bytes > 5242880 "
              "bytes"), "bad_request"),
    (429, ant("rate_limit_error", "This request would exceed your "
              "organization's rate limit of 40,000 input tokens per minute. "
              "For details, refer to: https://docs.anthropic.com/en/api/rate-"
              "limits. You can see the response headers for current usage. "
              "Please reduce the prompt length or the maximum tokens "
              "requested, or try again later."), "rate"),
    (429, ant("rate_limit_error", "Number of request tokens has exceeded "
              "your per-minute rate limit"), "rate"),
    (429, ant("rate_limit_error", "This request would exceed your account's "
              "rate limit. Please try again later."), "rate"),
    (429, ant("rate_limit_error", "Number of concurrent connections has "
              "exceeded your rate limit. Please try again later or contact "
              "sales."), "rate"),
    (429, ant("rate_limit_error", "Extra usage is required for long context "
              "requests."), "quota"),
    (500, ant("api_error", "Internal server error"), "server"),
    (500, ant("api_error", "Overloaded"), "overload"),
    (529, ant("overloaded_error", "Overloaded"), "overload"),
    (None, ant("overloaded_error", "Overloaded"), "overload"),
    (200, ant("overloaded_error", "Overloaded"), "overload"),
    (504, ant("timeout_error", "Request timed out"), "timeout"),
    (None, ant("rate_limit_error", "Rate limited"), "rate"),
    (None, ant("api_error", "Internal server error"), "server"),
    (None, ant("invalid_request_error", "messages: field required"),
     "bad_request"),
    (None, ant("authentication_error", "invalid x-api-key"), "auth"),
    (400, ant("invalid_request_error", "This credential is only authorized "
              "for use with Claude Code and cannot be used for other API "
              "requests."), "bad_request"),
]

GEMINI = [
    (400, goo(400, "INVALID_ARGUMENT", "API key not valid. Please pass a "
              "valid API key.", {"reason": "API_KEY_INVALID",
                                 "domain": "googleapis.com"}), "auth"),
    (400, goo(400, "INVALID_ARGUMENT", "API Key not found. Please pass a "
              "valid API key.", {"reason": "API_KEY_INVALID"}), "auth"),
    (400, goo(400, "INVALID_ARGUMENT", "API key expired. Please renew the "
              "API key.", {"reason": "API_KEY_INVALID"}), "auth"),
    (403, goo(403, "PERMISSION_DENIED", "Method doesn't allow unregistered "
              "callers (callers without established identity). Please use "
              "API Key or other form of API consumer identity to call this "
              "API."), "auth"),
    (403, goo(403, "PERMISSION_DENIED", "Your API key was reported as "
              "leaked. Please use another API key."), "auth"),
    (403, goo(403, "PERMISSION_DENIED", "Generative Language API has not "
              "been used in project 123 before or it is disabled.",
              {"reason": "SERVICE_DISABLED"}), "auth"),
    (401, goo(401, "UNAUTHENTICATED", "Request had invalid authentication "
              "credentials. Expected OAuth 2 access token, login cookie or "
              "other valid authentication credential."), "auth"),
    (400, goo(400, "FAILED_PRECONDITION", "User location is not supported "
              "for the API use."), "bad_request"),
    (400, goo(400, "INVALID_ARGUMENT", "The input token count (1196265) "
              "exceeds the maximum number of tokens allowed (1048576)."),
     "context_overflow"),
    (400, goo(400, "INVALID_ARGUMENT", "The input token count exceeds the "
              "maximum number of tokens allowed 1048576."),
     "context_overflow"),
    (400, goo(400, "INVALID_ARGUMENT", "* GenerateContentRequest.tools[0]."
              "function_declarations[0].parameters.properties: should be "
              "non-empty for OBJECT type"), "bad_request"),
    (400, goo(400, "INVALID_ARGUMENT", "Please ensure that function call "
              "turn comes immediately after a user turn or after a function "
              "response turn."), "bad_request"),
    (400, goo(400, "INVALID_ARGUMENT", "Function call is missing a "
              "thought_signature in functionCall parts."), "bad_request"),
    (400, goo(400, "INVALID_ARGUMENT", "Invalid JSON payload received. "
              "Unknown name \"const\" at 'tools[0]': Cannot find field."),
     "bad_request"),
    (404, goo(404, "NOT_FOUND", "models/gemini-9 is not found for API "
              "version v1beta, or is not supported for generateContent. Call "
              "ListModels to see the list of available models."),
     "model_not_found"),
    (404, goo(404, "NOT_FOUND", "Publisher Model `projects/x/locations/us/"
              "publishers/google/models/gemini-9` was not found or your "
              "project does not have access to it."), "model_not_found"),
    (429, goo(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, "
              "please check your plan and billing details. For more "
              "information on this error, head to: https://ai.google.dev/"
              "gemini-api/docs/rate-limits.\n* Quota exceeded for metric: "
              "generativelanguage.googleapis.com/generate_content_free_tier_"
              "requests, limit: 10\nPlease retry in 34.074824224s.",
              violated("GenerateRequestsPerMinutePerProjectPerModel-"
                       "FreeTier"), RETRY), "rate"),
    (429, goo(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, "
              "please check your plan and billing details.",
              violated("GenerateContentInputTokensPerModelPerMinute-"
                       "FreeTier"), RETRY), "rate"),
    (429, goo(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, "
              "please check your plan and billing details.",
              violated("GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
              RETRY), "quota"),
    (429, goo(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota. "
              "* Quota exceeded for metric: generativelanguage.googleapis.com"
              "/generate_content_free_tier_requests, limit: 0\nPlease retry "
              "in 3s."), "quota"),
    (429, goo(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. "
              "check quota)."), "rate"),
    (429, goo(429, "RESOURCE_EXHAUSTED", "Resource exhausted. Please try "
              "again later. Please refer to https://cloud.google.com/"
              "vertex-ai/generative-ai/docs/error-code-429 for more "
              "details."), "rate"),
    (429, goo(429, "RESOURCE_EXHAUSTED", "No capacity available for model "
              "gemini-3.1-flash on the server",
              {"reason": "MODEL_CAPACITY_EXHAUSTED"}), "overload"),
    (429, goo(429, "RESOURCE_EXHAUSTED", "Quota exceeded for aiplatform."
              "googleapis.com/online_prediction_requests_per_base_model with "
              "base model: gemini-pro. Please submit a quota increase "
              "request."), "rate"),
    (429, goo(429, "RESOURCE_EXHAUSTED", "Your prepayment credits are "
              "depleted. Please go to AI Studio to manage your project and "
              "billing."), "quota"),
    (500, goo(500, "INTERNAL", "An internal error has occurred. Please retry "
              "or report in https://developers.generativeai.google/guide/"
              "troubleshooting"), "server"),
    (503, goo(503, "UNAVAILABLE", "The model is overloaded. Please try again "
              "later."), "overload"),
    (503, goo(503, "UNAVAILABLE", "This model is currently experiencing high "
              "demand. Spikes in demand are usually temporary. Please try "
              "again later."), "overload"),
    (504, goo(504, "DEADLINE_EXCEEDED", "Deadline expired before operation "
              "could complete."), "timeout"),
    (499, goo(499, "CANCELLED", "The operation was cancelled."),
     "bad_request"),
    (400, "[" + goo(400, "INVALID_ARGUMENT", "API key not valid. Please pass "
                    "a valid API key.", {"reason": "API_KEY_INVALID"}) + "]",
     "auth"),
    (429, json.dumps({"error": {"message": goo(
        429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check "
        "quota)."), "code": 429, "status": "Too Many Requests"}}), "rate"),
    (400, goo(400, "INVALID_ARGUMENT", "Request contains an invalid "
              "argument."), "bad_request"),
    (400, goo(400, "FAILED_PRECONDITION", "Gemini API free tier is not "
              "available in your country. Please enable billing on your "
              "project in Google AI Studio."), "quota"),
]

OPENROUTER = [
    (401, oai("No auth credentials found", code=401), "auth"),
    (401, oai("User not found.", code=401), "auth"),
    (402, oai("This request requires more credits, or fewer max_tokens. You "
              "requested up to 8192 tokens, but can only afford 5264.",
              code=402), "quota"),
    (402, oai("Insufficient credits. Add more using https://openrouter.ai/"
              "settings/credits", code=402), "quota"),
    (403, oai("Key limit exceeded (total limit). Manage it using "
              "https://openrouter.ai/settings/keys", code=403), "quota"),
    (403, json.dumps({"error": {"code": 403, "message": "anthropic/claude "
                                "requires moderation on OpenRouter. Your "
                                "input was flagged for \"harassment\".",
                                "metadata": {"reasons": ["harassment"]}}}),
     "bad_request"),
    (400, oai("foo/bar is not a valid model ID", code=400),
     "model_not_found"),
    (404, oai("No endpoints found for foo/bar.", code=404),
     "model_not_found"),
    (404, oai("No endpoints found that support tool use. To learn more about "
              "provider routing, visit: https://openrouter.ai/docs",
              code=404), "bad_request"),
    (404, oai("No endpoints found matching your data policy. Enable prompt "
              "training here: https://openrouter.ai/settings/privacy",
              code=404), "bad_request"),
    (400, oai("This endpoint's maximum context length is 131072 tokens. "
              "However, you requested about 140000 tokens (130000 of text "
              "input, 10000 in the output).", code=400), "context_overflow"),
    (429, oai("Rate limit exceeded: free-models-per-min. ", code=429),
     "rate"),
    (429, oai("Rate limit exceeded: free-models-per-day. Add 10 credits to "
              "unlock 1000 free model requests per day", code=429), "rate"),
    (429, json.dumps({"error": {
        "message": "Provider returned error", "code": 429, "metadata": {
            "raw": "z-ai/glm-5 is temporarily rate-limited upstream. Please "
                   "retry shortly, or add your own key",
            "provider_name": "BaseTen"}}}), "rate"),
    (429, json.dumps({"error": {
        "message": "Provider returned error", "code": 429, "metadata": {
            "raw": json.dumps({"error": {"message": "Your account is "
                               "suspended due to insufficient balance, "
                               "please recharge your account"}})}}}),
     "quota"),
    (400, json.dumps({"error": {
        "message": "Provider returned error", "code": 400, "metadata": {
            "raw": '{"error":{"message":"prompt is too long: 210000 tokens >'
                   ' 200000 maximum"}}'}}}), "context_overflow"),
    (502, oai("Provider returned error", code=502), "server"),
    (None, oai("Provider returned error", code=502), "server"),
    (200, json.dumps({"error": {"code": 429, "message": "Provider returned "
                                "error"}}), "rate"),
    (502, oai("Network connection lost.", code=502), "network"),
    (503, oai("There is no available model provider that meets your routing "
              "requirements", code=503), "overload"),
    (408, oai("Request timed out", code=408), "timeout"),
    (524, oai("error code: 524"), "timeout"),
]

MISTRAL_GROQ_DEEPSEEK = [
    (401, '{"detail":"Unauthorized"}', "auth"),
    (401, '{"message":"Unauthorized","request_id":"429b"}', "auth"),
    (400, '{"object":"error","message":"Invalid model: mistral-foo","type":'
          '"invalid_model","param":null,"code":"1500"}', "model_not_found"),
    (400, '{"object":"error","message":"Prompt contains 40000 tokens and 0 '
          'draft tokens, too large for model with 32768 maximum context '
          'length","type":"invalid_request_error"}', "context_overflow"),
    (422, '{"object":"error","message":{"detail":[{"type":'
          '"extra_forbidden","loc":["body","reasoning_content"],"msg":'
          '"Extra inputs are not permitted","input":"rate limit exceeded"}]}'
          ',"type":"invalid_request_error"}', "bad_request"),
    (422, '{"detail":[{"loc":["body","messages"],"msg":"field required",'
          '"type":"value_error.missing"}]}', "bad_request"),
    (429, '{"message":"Requests rate limit exceeded"}', "rate"),
    (429, '{"object":"error","message":"Rate limit exceeded","type":'
          '"rate_limited","param":null,"code":"1300"}', "rate"),
    (429, '{"object":"error","message":"Service tier capacity exceeded for '
          'this model.","type":"invalid_request_error","param":null,"code":'
          'null}', "overload"),
    (503, '{"object":"error","message":"Service unavailable.","type":'
          '"internal_server_error"}', "overload"),
    (400, oai("Expected last role User or Tool (or Assistant with prefix "
              "True) for serving but got assistant"), "bad_request"),
    (400, '{"object":"error","message":"Not the same number of function '
          'calls and responses"}', "bad_request"),
    (401, oai("Invalid API Key", code="invalid_api_key"), "auth"),
    (413, oai("Request too large for model `llama-3.1-8b-instant` in "
              "organization `org_0` service tier `on_demand` on tokens per "
              "minute (TPM): Limit 6000, Requested 13241, please reduce your "
              "message size and try again. Need more tokens? Upgrade to Dev "
              "Tier today at https://console.groq.com/settings/billing",
              "tokens", "rate_limit_exceeded"), "context_overflow"),
    (429, oai("Rate limit reached for model `llama-3.3-70b-versatile` in "
              "organization `org_0` service tier `on_demand` on tokens per "
              "day (TPD): Limit 100000, Used 99901, Requested 1681. Please "
              "try again in 22m46.848s. Need more tokens? Upgrade to Dev "
              "Tier today at https://console.groq.com/settings/billing",
              "tokens", "rate_limit_exceeded"), "rate"),
    (400, oai("Failed to call a function. Please adjust your prompt. See "
              "'failed_generation' for more details.",
              code="tool_use_failed", failed_generation="rate limit"),
     "tool_schema"),
    (400, oai("tool call validation failed: attempted to call tool 'x' which "
              "was not in request.tools", code="tool_use_failed"),
     "tool_schema"),
    (400, oai("Please reduce the length of the messages or completion.",
              code="context_length_exceeded"), "context_overflow"),
    (400, oai("The model `mixtral-8x7b-32768` has been decommissioned and is "
              "no longer supported.", code="model_decommissioned"),
     "model_not_found"),
    (404, oai("The model `foo` does not exist or you do not have access to "
              "it.", code="model_not_found"), "model_not_found"),
    (403, '{"error":{"message":"Access denied. Please check your network '
          'settings."}}', "auth"),
    (498, oai("Flex tier capacity exceeded", code="capacity_exceeded"),
     "overload"),
    (503, oai("llama-3.3-70b is currently over capacity. Please try again "
              "and back off exponentially.", "internal_server_error"),
     "overload"),
    (400, oai("'messages.2' : for 'role:tool' the following must be "
              "satisfied[('messages.2.tool_call_id' : property is missing)]"),
     "bad_request"),
    (400, oai("`temperature` must be between 0 and 2"), "bad_request"),
    (401, oai("Authentication Fails, Your api key: ****1234 is invalid",
              "authentication_error"), "auth"),
    (402, oai("Insufficient Balance", "unknown_error"), "quota"),
    (400, oai("Model Not Exist"), "model_not_found"),
    (400, oai("This model's maximum context length is 65536 tokens. However,"
              " you requested 70000 tokens (66000 in the messages, 4000 in "
              "the completion)."), "context_overflow"),
    (400, oai("Invalid max_tokens value, the valid range of max_tokens is "
              "[1, 8192]"), "bad_request"),
    (422, oai("Failed to deserialize the JSON body into the target type: "
              "messages[3]: missing field `content`"), "bad_request"),
    (429, oai("Rate Limit Reached"), "rate"),
    (503, oai("Service is too busy. We advise users to temporarily switch "
              "to alternative LLM API service providers.",
              "service_unavailable_error"), "overload"),
    (400, oai("The `reasoning_content` in the thinking mode must be passed "
              "back to the API."), "bad_request"),
    (400, oai("deepseek-reasoner does not support this function calling"),
     "bad_request"),
]

CHINA = [
    (401, oai("Invalid Authentication", "invalid_authentication_error"),
     "auth"),
    (401, oai("Incorrect API key provided", "incorrect_api_key_error"),
     "auth"),
    (403, oai("Your account org-1 <ak-2> is not active, organization <org-1> "
              "exceeded current quota, please check your plan and billing "
              "details", "exceeded_current_quota_error"), "quota"),
    (429, oai("Your account org-1<ak-2> is suspended due to insufficient "
              "balance, please recharge your account or check your plan and "
              "billing details", "exceeded_current_quota_error"), "quota"),
    (429, oai("Your account org-1<ak-2> request reached organization max RPM:"
              " 3, please try again after 1 seconds",
              "rate_limit_reached_error"), "rate"),
    (429, oai("Your account org-1 request reached organization TPD rate "
              "limit, current: 1526210, limit: 1500000",
              "rate_limit_reached_error"), "rate"),
    (429, oai("We're receiving too many requests at the moment. Please wait "
              "a moment and try again.", "rate_limit_reached_error"), "rate"),
    (429, oai("The engine is currently overloaded, please try again later",
              "engine_overloaded_error"), "overload"),
    (404, oai("Not found the model kimi-x or Permission denied",
              "resource_not_found_error"), "model_not_found"),
    (400, oai("Invalid request: Your request exceeded model token limit: "
              "262144 (requested: 300000)"), "context_overflow"),
    (400, oai("The request was rejected because it was considered high risk",
              "content_filter"), "bad_request"),
    (400, oai("invalid temperature: only 0.6 is allowed for this model"),
     "bad_request"),
    (403, oai("Kimi For Coding is currently only available for Coding Agents "
              "such as Kimi CLI.", "access_terminated_error"),
     "bad_request"),
    (403, oai("You've reached your usage limit for this billing cycle. Your "
              "quota will be refreshed in the next cycle."), "quota"),
    (429, '{"error":{"code":"1113","message":"Insufficient balance or no '
          'resource package. Please recharge."}}', "quota"),
    (429, '{"error":{"code":"1113","message":"您的账户已欠费，请充值后重试"'
          '}}', "quota"),
    (429, '{"error":{"code":"1302","message":"您当前使用该API的并发数过高，'
          '请降低并发"}}', "rate"),
    (429, '{"error":{"code":"1302","message":"High concurrency usage of this '
          'API, please reduce concurrency"}}', "rate"),
    (429, '{"error":{"code":"1303","message":"High frequency usage of this '
          'API, please reduce frequency"}}', "rate"),
    (429, '{"error":{"code":"1304","message":"This API has reached its daily '
          'call limit"}}', "quota"),
    (429, '{"error":{"code":"1305","message":"该模型当前访问量过大，请您稍后'
          '再试"}}', "overload"),
    (429, '{"error":{"code":"1308","message":"Usage limit reached for 5 '
          'hour. Your limit will reset at 2026-11-20 18:00:00"}}', "quota"),
    (429, '{"error":{"code":"1309","message":"Your GLM Coding Plan package '
          'has expired"}}', "quota"),
    (429, '{"error":{"code":"1310","message":"您已达到每周使用上限"}}',
     "quota"),
    (429, '{"error":{"code":"1311","message":"The current subscription plan '
          'does not yet include access to glm-5"}}', "quota"),
    (429, '{"error":{"code":"1312","message":"该模型当前访问量过大，请您稍后'
          '再试，或切换其他模型"}}', "overload"),
    (401, '{"error":{"code":"1002","message":"Authorization Token非法，请确认'
          'Authorization Token正确传递。"}}', "auth"),
    (401, '{"error":{"code":"1000","message":"身份验证失败。"}}', "auth"),
    (401, '{"error":{"code":"401","message":"令牌已过期或验证不正确"}}',
     "auth"),
    (400, '{"error":{"code":"1211","message":"Unknown Model, please check '
          'the model code."}}', "model_not_found"),
    (400, '{"error":{"code":"1211","message":"模型不存在，请检查模型代码。"'
          '}}', "model_not_found"),
    (400, '{"error":{"code":"1261","message":"Prompt 超长"}}',
     "context_overflow"),
    (400, '{"error":{"code":"1261","message":"Prompt exceeds max length"}}',
     "context_overflow"),
    (400, '{"error":{"code":"1210","message":"API 调用参数有误，请检查文档。'
          '"}}', "bad_request"),
    (400, '{"error":{"code":"1214","message":"messages 参数非法。请检查文档。'
          '"}}', "bad_request"),
    (400, '{"error":{"code":"1301","message":"系统检测到输入或生成内容可能'
          '包含不安全或敏感内容"}}', "bad_request"),
    (500, '{"error":{"code":"1234","message":"网络错误，错误id：429，请联系'
          '客服"}}', "network"),
    (500, '{"error":{"code":"500","message":"内部错误"}}', "server"),
    (401, oai("Incorrect API key provided.", code="invalid_api_key"),
     "auth"),
    (401, '{"code":"InvalidApiKey","message":"Invalid API-key provided.",'
          '"request_id":"a4"}', "auth"),
    (400, '{"code":"Arrearage","message":"Access denied, please make sure '
          'your account is in good standing."}', "quota"),
    (403, '{"code":"AllocationQuota.FreeTierOnly","message":"The free tier '
          'of the model has been exhausted."}', "quota"),
    (403, '{"code":"AccessDenied.Unpurchased","message":"Access to model '
          'denied. Please make sure you are eligible for using the model."}',
     "model_not_found"),
    (429, '{"code":"Throttling.RateQuota","message":"Requests rate limit '
          'exceeded, please try again later."}', "rate"),
    (429, '{"code":"Throttling.AllocationQuota","message":"Allocated quota '
          'exceeded, please increase your quota limit."}', "rate"),
    (429, '{"code":"Throttling","message":"Requests throttling triggered."}',
     "rate"),
    (429, oai("You have exceeded your current request limit. For details, "
              "see: https://help.aliyun.com", code="limit_requests"),
     "rate"),
    (400, oai("<400> InternalError.Algo.InvalidParameter: Range of input "
              "length should be [1, 129024]", code="invalid_parameter_error"),
     "context_overflow"),
    (400, '{"code":"DataInspectionFailed","message":"Input data may contain '
          'inappropriate content."}', "bad_request"),
    (400, oai("parameter.enable_thinking must be set to false for "
              "non-streaming calls"), "bad_request"),
    (404, oai("The model `qwen-foo` does not exist or you do not have access "
              "to it.", code="model_not_found"), "model_not_found"),
    (404, '{"code":"ModelNotFound","message":"Model can not be found."}',
     "model_not_found"),
    (500, '{"code":"InternalError.Timeout","message":"An internal timeout '
          'error has occurred during execution"}', "server"),
    (503, '{"code":"ModelServingError","message":"Too many requests. Your '
          'requests are being throttled due to system capacity limits."}',
     "overload"),
    (200, mini(1000, "unknown error"), "server"),
    (200, mini(1001, "request timeout"), "timeout"),
    (200, mini(1002, "rate limit"), "rate"),
    (200, mini(1004, "login fail: Please carry the API secret key in the "
                     "'Authorization' field of the request header"), "auth"),
    (200, mini(1008, "insufficient balance"), "quota"),
    (200, mini(1013, "internal error"), "server"),
    (200, mini(1026, "input new_sensitive"), "bad_request"),
    (200, mini(1027, "output new_sensitive"), "bad_request"),
    (200, mini(1039, "token limit"), "rate"),
    (200, mini(2013, "invalid params"), "bad_request"),
    (200, mini(2013, "invalid params, context window exceeds limit"),
     "context_overflow"),
    (200, mini(2049, "invalid api key"), "auth"),
    (200, mini(2056, "usage limit exceeded"), "quota"),
    (200, mini(2061, "your current token plan not support model, "
                     "MiniMax-M9"), "quota"),
    (401, ant("authentication_error", "login fail: Please carry the API "
              "secret key in the 'X-Api-Key' field of the request header"),
     "auth"),
    (500, ant("api_error", "insufficient balance (1008)"), "quota"),
    (401, oai("Api key is invalid", code="invalid_iam_token"), "auth"),
    (429, '{"error":{"code":"QuotaExceeded","message":"You have exceeded the '
          '5-hour usage quota. It will reset at 2026-11-20 18:00","type":'
          '"TooManyRequests"}}', "quota"),
    (404, '{"error":{"code":"InvalidEndpointOrModel.NotFound","message":"The '
          'model or endpoint doubao-x does not exist or you do not have '
          'access to it.","type":"NotFound"}}', "model_not_found"),
    (400, '{"error":{"code":"InvalidParameter","message":"Total tokens of '
          'image and text exceed max message tokens"}}', "context_overflow"),
    (429, '{"error":{"code":"ServerOverloaded","message":"The service is '
          'currently unable to handle additional requests due to server '
          'overload.","type":"TooManyRequests"}}', "overload"),
    (403, '{"error":{"code":"AccountOverdueError","message":"The request '
          'failed because your account has an overdue balance.","type":'
          '"Forbidden"}}', "quota"),
    (403, '{"error":{"message":"用户额度不足, 剩余额度: ＄0.000000","type":'
          '"new_api_error","code":"insufficient_user_quota"}}', "quota"),
    (503, '{"error":{"message":"当前分组 default 下对于模型 gpt-4 无可用渠道'
          '","type":"new_api_error"}}', "model_not_found"),
]

OTHERS = [
    # Cohere
    (401, '{"message":"invalid api token"}', "auth"),
    (401, '{"message":"no api key supplied"}', "auth"),
    (404, '{"message":"model \'command-x\' not found, make sure the correct '
          'model ID was used and that you have access to the model."}',
     "model_not_found"),
    (400, '{"message":"too many tokens: total number of tokens in the prompt '
          'cannot exceed 4081 - received 5000."}', "context_overflow"),
    (400, '{"message":"invalid request: message must be at least 1 token '
          'long or tool results must be specified."}', "bad_request"),
    (429, '{"message":"You are using a Trial key, which is limited to 40 API '
          'calls / minute. You can continue to use the Trial key for free or '
          'upgrade to a Production key with higher rate limits at '
          'https://dashboard.cohere.com/api-keys."}', "rate"),
    (429, '{"message":"Please wait and try again later"}', "rate"),
    (500, '{"message":"internal server error, this has been reported to our '
          'developers."}', "server"),
    # Together
    (401, oai("Invalid API key provided. You can find your API key at "
              "https://api.together.ai/settings/api-keys.",
              code="invalid_api_key"), "auth"),
    (402, oai("Credit limit exceeded, please navigate to billing.",
              "credit_limit"), "quota"),
    (404, oai("Unable to access model foo/bar. Please visit "
              "https://api.together.ai/models to view the list of supported "
              "models.", code="model_not_available"), "model_not_found"),
    (400, oai("Unable to access non-serverless model foo/bar.",
              code="model_not_available"), "model_not_found"),
    (422, oai("Input validation error: `inputs` tokens + `max_new_tokens` "
              "must be <= 8193. Given: 9000 `inputs` tokens and 512 "
              "`max_new_tokens`"), "context_overflow"),
    (429, oai("You have reached the rate limit specific to this model foo. "
              "The maximum rate limit for this model is 6.0 queries per "
              "minute.", "model_rate_limit"), "rate"),
    (503, oai("The server is overloaded or not ready yet.",
              code="service_unavailable"), "overload"),
    # Fireworks
    (401, '{"error":{"object":"error","type":"invalid_request_error","code":'
          '"UNAUTHORIZED","message":"The API key you provided is invalid."}}',
     "auth"),
    (403, '{"error":"unauthorized"}', "auth"),
    (404, oai("Model not found, inaccessible, and/or not deployed",
              code="NOT_FOUND"), "model_not_found"),
    (400, oai("The prompt is too long: 204840, model maximum context length: "
              "131071"), "context_overflow"),
    (412, oai("Account foo is suspended, possibly due to reaching the "
              "monthly spending limit or failure to pay past invoices."),
     "quota"),
    (429, oai("Rate limit exceeded, please try again later"), "rate"),
    # Perplexity
    (401, "<html><head><title>401 Authorization Required</title></head>"
          "<body><center>openresty</center></body></html>", "auth"),
    (401, oai("You exceeded your current quota, please check your plan and "
              "billing details.", "insufficient_quota", 401), "quota"),
    (400, oai("Invalid model 'sonar-x'. Permitted models can be found in the "
              "documentation at https://docs.perplexity.ai.",
              "invalid_model", 400), "model_not_found"),
    (400, oai("Last message must have role `user`.", "invalid_message", 400),
     "bad_request"),
    (429, oai("Request rate limit exceeded, please try again later.",
              "request_rate_limit_exceeded", 429), "rate"),
    # NVIDIA
    (401, '{"status":401,"title":"Unauthorized","detail":"Authentication '
          'failed"}', "auth"),
    (403, '{"status":403,"title":"Forbidden","detail":"Authorization failed"'
          '}', "auth"),
    (404, '{"status":404,"title":"Not Found","detail":"Function '
          '\'4290-ab\': Not found for account \'x\'"}', "model_not_found"),
    (404, "404 page not found", "bad_request"),
    (402, '{"status":402,"title":"Payment Required","detail":"Account x: '
          'Cloud credits expired - Please contact NVIDIA"}', "quota"),
    (429, '{"status":429,"title":"Too Many Requests"}', "rate"),
    # xAI
    (400, '{"code":"Client specified an invalid argument","error":"Incorrect '
          'API key provided: xa***bc. You can obtain an API key from '
          'https://console.x.ai."}', "auth"),
    (403, '{"code":"The caller does not have permission to execute the '
          'specified operation","error":"Your newly created team doesn\'t '
          'have any credits or licenses yet."}', "quota"),
    (429, '{"code":"Some resource has been exhausted","error":"Your team x '
          'has either used all available credits or reached its monthly '
          'spending limit."}', "quota"),
    (404, '{"code":"Some requested entity was not found","error":"The model '
          'grok-9 does not exist or your team x does not have access to it."'
          '}', "model_not_found"),
    (400, '{"code":"Client specified an invalid argument","error":"This '
          'model\'s maximum prompt length is 131072 but the request contains '
          '537812 tokens."}', "context_overflow"),
    (429, '{"code":"Some resource has been exhausted","error":"Too many '
          'requests for team x and model grok-4. Your team\'s rate limit is '
          '- requests per second: 1"}', "rate"),
    (400, '{"code":"Client specified an invalid argument","error":"Argument '
          'not supported on this model: presencePenalty"}', "bad_request"),
    (503, '{"code":"The service is currently unavailable","error":"The model '
          'is currently at capacity due to high demand."}', "overload"),
    # Hugging Face
    (401, '{"error":"Invalid username or password."}', "auth"),
    (401, '{"error":"Invalid credentials in Authorization header"}', "auth"),
    (402, '{"error":"You have exceeded your monthly included credits for '
          'Inference Providers. Subscribe to PRO to get 20x more monthly '
          'included credits."}', "quota"),
    (403, '{"error":"This authentication method does not have sufficient '
          'permissions to call Inference Providers on behalf of user x"}',
     "auth"),
    (400, oai("The requested model 'foo/bar' is not supported by any "
              "provider you have enabled.", code="model_not_supported"),
     "model_not_found"),
    (403, '{"error":"The model foo/bar is too large to be loaded '
          'automatically (16GB > 10GB)."}', "bad_request"),
    (503, '{"error":"Model foo/bar is currently loading","estimated_time":'
          '20.5}', "overload"),
    (429, '{"error":"Rate limit reached. Please log in or use a HF access '
          'token"}', "rate"),
    (422, '{"error":"Input validation error: `inputs` must have less than '
          '4096 tokens. Given: 5000","error_type":"validation"}',
     "context_overflow"),
    (424, '{"error":"Request failed during generation: Server error: CANCELL'
          'ED","error_type":"generation"}', "bad_request"),
    (429, '{"error":"Model is overloaded","error_type":"overloaded"}',
     "overload"),
    # Cerebras, SambaNova, DeepInfra, AI21, GitHub
    (429, '{"message":"Tokens per minute limit exceeded - too many tokens '
          'processed.","type":"too_many_tokens_error","param":"quota","code":'
          '"token_quota_exceeded"}', "rate"),
    (429, '{"message":"We\'re experiencing high traffic right now! Please '
          'try again soon.","type":"too_many_requests_error","code":'
          '"queue_exceeded"}', "overload"),
    (404, '{"message":"Model foo does not exist or you do not have access to '
          'it.","type":"not_found_error","code":"model_not_found"}',
     "model_not_found"),
    (402, '{"detail":{"error":"inference prohibited, please enter a payment '
          'method or top up your balance"}}', "quota"),
    (429, '{"detail":{"error":"Model busy, retry later"}}', "overload"),
    (403, '{"message":"You have exceeded a secondary rate limit. Please wait '
          'a few minutes before you try again."}', "rate"),
    (400, oai("prompt token count of 139000 exceeds the limit of 128000",
              code="model_max_prompt_tokens_exceeded"), "context_overflow"),
    (400, oai("The requested model is not supported.",
              code="model_not_supported"), "model_not_found"),
    # AWS Bedrock
    (429, '{"message":"Too many tokens, please wait before trying again."}',
     "rate"),
    (429, '{"message":"Too many requests, please wait before trying again."}',
     "rate"),
    (400, '{"__type":"ThrottlingException","message":"Rate exceeded"}',
     "rate"),
    (400, '{"__type":"com.amazon.coral.validate#ValidationException",'
          '"message":"Input is too long for requested model."}',
     "context_overflow"),
    (400, '{"message":"The provided model identifier is invalid."}',
     "model_not_found"),
    (400, '{"message":"Invocation of model ID anthropic.claude-x with '
          'on-demand throughput isn\\u2019t supported. Retry your request '
          'with the ID of an inference profile"}', "model_not_found"),
    (403, '{"message":"You don\'t have access to the model with the '
          'specified model ID."}', "model_not_found"),
    (403, '{"message":"The security token included in the request is '
          'invalid."}', "auth"),
    (403, '{"__type":"ExpiredTokenException","message":"The security token '
          'included in the request is expired"}', "auth"),
    (403, '{"message":"The request signature we calculated does not match '
          'the signature you provided."}', "auth"),
    (503, '{"message":"Bedrock is unable to process your request."}',
     "overload"),
    (424, '{"message":"The system encountered an unexpected error during '
          'processing. Try your request again."}', "bad_request"),
    (429, '{"__type":"ModelNotReadyException","message":"Model is not ready '
          'for inference."}', "overload"),
]

LOCAL = [
    # Ollama
    (404, '{"error":"model \\"llama9\\" not found, try pulling it first"}',
     "model_not_found"),
    (404, oai("model 'llama9' not found", "api_error"), "model_not_found"),
    (400, '{"error":"registry.ollama.ai/library/gemma:2b does not support '
          'tools"}', "bad_request"),
    (500, '{"error":"llama runner process has terminated: exit status 2"}',
     "server"),
    (500, '{"error":"model requires more system memory (8.4 GiB) than is '
          'available (5.1 GiB)"}', "server"),
    (500, '{"error":"error parsing tool call: raw=\'{\\"a\\"\', err=invalid '
          'character"}', "tool_schema"),
    (503, '{"error":"server busy, please try again.  maximum pending '
          'requests exceeded"}', "overload"),
    (400, '{"error":"prompt too long; exceeded max context length by 10 '
          'tokens"}', "context_overflow"),
    (400, '{"error":"model is required"}', "bad_request"),
    (401, '{"error":"unauthorized"}', "auth"),
    (429, '{"error":"you (x) have reached your weekly usage limit, upgrade '
          'for higher limits: https://ollama.com/upgrade"}', "quota"),
    # llama.cpp
    (400, '{"error":{"code":400,"message":"the request exceeds the available '
          'context size, try increasing it","type":'
          '"exceed_context_size_error","n_prompt_tokens":600,"n_ctx":512}}',
     "context_overflow"),
    (503, '{"error":{"message":"Loading model","type":"unavailable_error",'
          '"code":503}}', "overload"),
    (500, '{"error":{"code":500,"message":"tools param requires --jinja '
          'flag","type":"server_error"}}', "server"),
    (401, '{"error":{"message":"Invalid API Key","type":'
          '"authentication_error","code":401}}', "auth"),
    (501, '{"error":{"code":501,"message":"This server does not support '
          'embeddings.","type":"not_supported_error"}}', "server"),
    (404, '{"error":{"message":"File Not Found","type":"not_found_error",'
          '"code":404}}', "bad_request"),
    (500, '{"error":{"code":500,"message":"Failed to parse tool call '
          'arguments as JSON","type":"server_error"}}', "tool_schema"),
    (400, '{"error":{"code":400,"message":"image input is not supported - '
          'hint: if this is unexpected, you may need to provide the mmproj",'
          '"type":"invalid_request_error"}}', "bad_request"),
    # vLLM, SGLang, TGI
    (404, '{"object":"error","message":"The model `foo` does not exist.",'
          '"type":"NotFoundError","param":null,"code":404}',
     "model_not_found"),
    (400, '{"object":"error","message":"This model\'s maximum context length '
          'is 4096 tokens. However, you requested 5000 tokens (4488 in the '
          'messages, 512 in the completion).","type":"BadRequestError",'
          '"code":400}', "context_overflow"),
    (400, '{"error":{"message":"The decoder prompt (length 5000) is longer '
          'than the maximum model length of 4096.","type":'
          '"BadRequestError"}}', "context_overflow"),
    (400, '{"object":"error","message":"\\"auto\\" tool choice requires '
          '--enable-auto-tool-choice and --tool-call-parser to be set",'
          '"type":"BadRequestError"}', "bad_request"),
    (400, '{"object":"error","message":"The input (5000 tokens) is longer '
          'than the model\'s context length (4096 tokens)."}',
     "context_overflow"),
    (401, '{"error":"Unauthorized"}', "auth"),
    (400, '{"object":"error","message":"As of transformers v4.44, default '
          'chat template is no longer allowed","type":"BadRequestError"}',
     "bad_request"),
    # LM Studio
    (404, '{"error":{"message":"Model \\"foo\\" not found","type":'
          '"invalid_request_error","code":"model_not_found"}}',
     "model_not_found"),
    (404, '{"error":{"message":"No models loaded. Please load a model in the '
          'developer page or use the \'lms load\' command."}}',
     "model_not_found"),
    (400, '{"error":"Trying to keep the first 4525 tokens when context the '
          'overflows. However, the model is loaded with context length of '
          'only 4096 tokens, which is not enough."}', "context_overflow"),
    (400, '{"error":"The number of tokens to keep from the initial prompt is '
          'greater than the context length (4096)."}', "context_overflow"),
    (400, '{"error":"Error rendering prompt with jinja template: \\"Only '
          'user and assistant roles are supported!\\""}', "bad_request"),
    # LiteLLM
    (429, oai("litellm.RateLimitError: AnthropicException - "
              "{\"type\":\"error\"}", "throttling_error", "429"), "rate"),
    (400, oai("litellm.ContextWindowExceededError: litellm.BadRequestError: "
              "this is too much"), "context_overflow"),
    (401, oai("Authentication Error, Invalid proxy server token passed. "
              "Received API Key = sk-...1234", "auth_error", "401"), "auth"),
    (400, oai("Budget has been exceeded! Current cost: 1.2, Max budget: 1.0",
              "budget_exceeded", "400"), "quota"),
    (429, oai("No deployments available for selected model, Try again in 5 "
              "seconds. Passed model=gpt-4o.", None, "429"), "rate"),
    (400, oai("/chat/completions: Invalid model name passed in model=foo. "
              "Call `/v1/models` to view available models for your key."),
     "model_not_found"),
    (500, oai("litellm.InternalServerError: AnthropicException - Overloaded"),
     "overload"),
    (408, oai("litellm.Timeout: Request timed out.", "timeout_error"),
     "timeout"),
    (500, oai("litellm.APIConnectionError: OllamaException - Cannot connect "
              "to host localhost:11434"), "server"),
    (500, oai("litellm.AuthenticationError: OpenAIException - Incorrect API "
              "key provided: sk-x"), "auth"),
]

PAGES = [
    (502, page("502 Bad Gateway"), "server"),
    (504, page("504 Gateway Time-out"), "timeout"),
    (503, page("503 Service Temporarily Unavailable"), "overload"),
    (413, page("413 Request Entity Too Large"), "context_overflow"),
    (403, page("403 Forbidden"), "auth"),
    (403, page("Just a moment..."), "bad_request"),
    (403, page("Attention Required! | Cloudflare"), "bad_request"),
    (403, "error code: 1010", "bad_request"),
    (404, page("404 Not Found"), "bad_request"),
    (405, page("405 Not Allowed"), "bad_request"),
    (400, page("400 The plain HTTP request was sent to HTTPS port"),
     "bad_request"),
    (429, page("Access denied | api.x.com used Cloudflare to restrict "
               "access"), "rate"),
    (429, "error code: 1015", "rate"),
    (500, page("500 Internal Server Error"), "server"),
    (520, page("api.x.com | 520: Web server is returning an unknown error"),
     "server"),
    (521, page("api.x.com | 521: Web server is down"), "server"),
    (522, page("api.x.com | 522: Connection timed out"), "timeout"),
    (523, page("api.x.com | 523: Origin is unreachable"), "server"),
    (524, page("api.x.com | 524: A timeout occurred"), "timeout"),
    (525, page("api.x.com | 525: SSL handshake failed"), "server"),
    (530, "error code: 1033", "server"),
    (502, "", "server"), (500, "", "server"), (503, "", "overload"),
    (529, "", "overload"), (504, "", "timeout"), (408, "", "timeout"),
    (401, "", "auth"), (403, "", "auth"), (402, "", "quota"),
    (400, "", "bad_request"), (404, "", "bad_request"),
    (405, "", "bad_request"), (409, "", "bad_request"),
    (410, "", "bad_request"), (415, "", "bad_request"),
    (422, "", "bad_request"), (451, "", "bad_request"),
    (301, page("301 Moved Permanently"), "bad_request"),
    (407, page("407 Proxy Authentication Required"), "bad_request"),
    (503, "upstream connect error or disconnect/reset before headers. reset "
          "reason: connection failure", "overload"),
    (503, "no healthy upstream", "overload"),
    (500, '{"error":"context canceled"}', "server"),
    (503, '{"message":"failure to get a peer from the ring-balancer"}',
     "overload"),
]

WORDS = [
    (None, "connection refused", "network"),
    (None, "[Errno 111] Connection refused", "network"),
    (None, "Connection reset by peer", "network"),
    (None, "getaddrinfo failed", "network"),
    (None, "Temporary failure in name resolution", "network"),
    (None, "[Errno -2] Name or service not known", "network"),
    (None, "ECONNRESET", "network"),
    (None, "connect ECONNREFUSED 127.0.0.1:11434", "network"),
    (None, "socket hang up", "network"),
    (None, "fetch failed", "network"),
    (None, "error sending request for url (https://api.x.com/v1/models)",
     "network"),
    (None, "All connection attempts failed", "network"),
    (None, "SSL: CERTIFICATE_VERIFY_FAILED", "network"),
    (None, "could not reach Acme at acme.test: connection refused",
     "network"),
    (None, "Server disconnected without sending a response.", "network"),
    (None, "Acme at acme.test did not answer within 120 s", "timeout"),
    (None, "Request timed out.", "timeout"),
    (None, "operation timed out", "timeout"),
    (None, "The read operation timed out", "timeout"),
    (None, "context deadline exceeded", "timeout"),
    (None, "peer closed connection without sending complete message body "
           "(incomplete chunked read)", "incomplete"),
    (None, "unexpected EOF", "incomplete"),
    (None, "the stream of Acme ended before the answer did", "incomplete"),
    (None, "context canceled", "incomplete"),
    (None, "stream was closed early", "incomplete"),
    (None, "HTTP 429 Too Many Requests", "rate"),
    (None, "Error code: 429 - {'error': {'message': 'Rate limit reached'}}",
     "rate"),
    (None, "429 rate limit", "rate"),
    (None, "Too Many Requests", "rate"),
    (None, "status 503 Service Unavailable", "overload"),
    (None, "502 Bad Gateway", "server"),
    (None, "Error code: 401 - Unauthorized", "auth"),
    (None, "invalid api key", "auth"),
    (None, "Incorrect API key provided", "auth"),
    (None, "missing API key", "auth"),
    (None, "API key not set", "auth"),
    (None, "authentication failed", "auth"),
    (None, "auth failed", "auth"),
    (None, "unauthorized", "auth"),
    (None, "Forbidden", "auth"),
    (None, "permission denied", "auth"),
    (None, "access denied", "auth"),
    (None, "invalid token", "auth"),
    (None, "model not found: gpt-9", "model_not_found"),
    (None, "unknown model gpt-9", "model_not_found"),
    (None, "unsupported model: gpt-9", "model_not_found"),
    (None, "the model gpt-9 does not exist", "model_not_found"),
    (None, "invalid model gpt-9", "model_not_found"),
    (None, "HTTP 400 Bad Request", "bad_request"),
    (None, "got 422 from upstream", "bad_request"),
    (None, "API error (404): nothing here", "bad_request"),
    (None, "something strange happened", "server"),
    (None, "", "server"),
    (None, "insufficient balance", "quota"),
    (None, "out of credits", "quota"),
    (None, "The model is overloaded", "overload"),
    (None, "maximum context length is 4096 tokens", "context_overflow"),
    (None, "token limit exceeded", "context_overflow"),
    (None, "too many tokens", "context_overflow"),
    (None, "prompt exceeds max length", "context_overflow"),
    (None, "invalid_tool_call", "tool_schema"),
    (None, "tool 'x' not found in tool list", "tool_schema"),
    (429, "plan does not include this model", "quota"),
    (429, "your plan doesn't include glm-5", "quota"),
    (429, "insufficient_balance", "quota"),
    (429, "insufficient quota", "quota"),
    (429, "quota exhausted", "quota"),
    (429, "no available package", "quota"),
    (429, "package not active", "quota"),
    (429, "please purchase package", "quota"),
    (429, "model not available for your plan", "quota"),
    (429, "error 1113", "quota"),
    (429, "error 1311", "quota"),
]

TRAPS = [
    # "rate" in other words, numbers that are no status
    (None, "failed to generate 429 tokens", "server"),
    (500, "failed to generate an answer: integrated circuit", "server"),
    (None, "request req-429-401-ab failed", "server"),
    (None, "request id 429401 failed somehow", "server"),
    (None, "crashed at line 429", "server"),
    (None, "crashed at 0x404 in v4.29.401", "server"),
    (None, "limit 429, used 401", "server"),
    (None, "could not connect to port 443: connection refused", "network"),
    (400, oai("request 429429 is malformed"), "bad_request"),
    (400, oai("'accurate' is not a mode; rate must be a number"),
     "bad_request"),
    (500, oai("operation 401 of 500 failed"), "server"),
    # an echo of the request is not what the server says
    (422, '{"detail":[{"type":"missing","loc":["body","model"],"msg":"Field '
          'required","input":{"messages":[{"content":"invalid api key, rate '
          'limit exceeded, insufficient_quota"}]}}]}', "bad_request"),
    (400, json.dumps({"error": {"message": "bad role"}, "request": {
        "messages": [{"content": "prompt is too long; overloaded"}]}}),
     "bad_request"),
    # overloaded is not missing
    (404, "model overloaded-7b not found", "model_not_found"),
    (503, "model llama-70b is overloaded, not found a free slot",
     "overload"),
    # token is not always a key, a key not always ours
    (400, oai("Invalid token count in max_tokens"), "bad_request"),
    (400, oai("max_tokens must be less than or equal to 8192"),
     "bad_request"),
    (400, oai("stop sequences contain an invalid token"), "bad_request"),
    (400, oai("additional key 'api' in tool schema is not allowed"),
     "bad_request"),
    # the model is named, but it is not what is wrong
    (400, oai("This model does not support image inputs"), "bad_request"),
    (400, oai("temperature is not supported with this model"),
     "bad_request"),
    (400, oai("reasoning_effort is not supported for model gpt-4o"),
     "bad_request"),
    (400, oai("the model output must be text"), "bad_request"),
    (404, oai("path /v2/model not served here"), "bad_request"),
    # quota and rate
    (429, oai("Rate limit exceeded. Check your billing page for higher "
              "limits. Try again in 20s."), "rate"),
    (403, oai("This content violates our usage policies."), "bad_request"),
    (403, oai("not available in your region"), "bad_request"),
    (401, oai("429 Too Many Requests for this token"), "auth"),
    (400, "[" * 9000, "bad_request"),
    (500, "\x00\xff\udcff" * 40, "server"),
    (400, '{"error": null}', "bad_request"),
    (400, '{"error": 5, "message": ["a", {"message": "b"}]}',
     "bad_request"),
    (429, "null", "rate"),
    (429, "[]", "rate"),
]

TEXTS = [*OPENAI, *AZURE, *ANTHROPIC, *GEMINI, *OPENROUTER,
         *MISTRAL_GROQ_DEEPSEEK, *CHINA, *OTHERS, *LOCAL, *PAGES, *WORDS,
         *TRAPS]


@pytest.mark.each(("status", "text", "kind"), TEXTS)
def test_servers_are_understood(status, text, kind):
    assert classify(status, text).kind == kind


@pytest.mark.each(("status", "text", "kind"), [
    row for row in TEXTS if row[0] and row[0] >= 300])
def test_an_error_keeps_what_was_understood(status, text, kind):
    error = status_error(Peer(TITLE), status, text)

    assert type(error) is CLASSES.get(kind, UnavailableError)
    again = classify_error(error)
    # A vendor's code is not part of the sentence that is kept.
    near = {"model_not_found": "bad_request", "network": "server"}
    assert again.kind in (kind, near.get(kind))
    assert again.retryable == classify(status, text).retryable


def test_only_what_may_pass_is_worth_repeating():
    told = {kind: {classify(s, t).retryable for s, t, k in TEXTS if k == kind}
            for kind in ("auth", "quota", "bad_request", "model_not_found",
                         "context_overflow", "rate", "server", "network",
                         "incomplete", "tool_schema")}

    assert told.pop("auth") == {False}
    assert told.pop("quota") == {False}
    assert told.pop("bad_request") == {False}
    assert told.pop("model_not_found") == {False}
    assert told.pop("context_overflow") == {False}
    assert set(map(tuple, told.values())) == {(True,)}


@pytest.mark.each("status", [*range(400, 429), *range(430, 500)])
def test_a_4xx_is_not_repeated(status):
    assert not classify(status, "something").retryable


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 520, 529])
def test_429_and_5xx_are_repeated(status):
    assert classify(status, "something").retryable


def test_another_key_helps_with_a_rate_limit_only():
    assert classify(429, "slow down").rotates_key
    assert classify(429, "overloaded").rotates_key
    assert not classify(429, "insufficient_quota").rotates_key
    assert not classify(503, "overloaded").rotates_key
    assert not classify(401, "no").rotates_key


@pytest.mark.parametrize(("code", "kind"), [
    ("1113", "quota"), ("1302", "rate"), ("1305", "overload"),
    ("insufficient_quota", "quota"), ("model_not_found", "model_not_found"),
    ("context_length_exceeded", "context_overflow"), ("", "bad_request"),
    ("something_new", "bad_request"),
])
def test_a_code_known_apart_counts(code, kind):
    assert classify(400, "no", code).kind == kind


@pytest.mark.parametrize(("error", "kind", "retryable"), [
    (wire_error(Peer(TITLE), "http://a.test", ConnectionRefusedError(111)),
     "network", True),
    (wire_error(Peer(TITLE), "http://a.test", TimeoutError(), 9.0),
     "timeout", True),
    (wire_error(Peer(TITLE), "http://a.test", EOFError()),
     "incomplete", True),
    (wire_error(Peer(TITLE), "http://a.test", OverflowError()),
     "bad_request", False),
    (UnavailableError("Acme answered with a web page (HTML)"),
     "bad_request", False),
    (IncompleteAnswerError("Acme gave an empty answer, twice"),
     "incomplete", False),
    (IncompleteAnswerError("Acme held its answer back (content filter)"),
     "incomplete", False),
    (IncompleteAnswerError("it ended early"), "incomplete", True),
    (UnavailableError("x", status=408), "timeout", False),
    (UnavailableError("x", status=500), "server", True),
    (OverloadedError("x"), "overload", True),
    (OverloadedError("x", status=498), "overload", False),
    (RequestRefusedError("quota rate key"), "bad_request", False),
    (RequestRefusedError("tool call validation failed", status=400),
     "tool_schema", True),
    (ConfigError("x"), "bad_request", False),
    (BudgetError("rate limit"), "bad_request", False),
    (ConnectionResetError(), "network", True),
    (TimeoutError(), "timeout", True),
    (RuntimeError("HTTP 429 Too Many Requests"), "rate", True),
])
def test_errors_are_understood_after_the_fact(error, kind, retryable):
    failure = classify_error(error)

    assert (failure.kind, failure.retryable) == (kind, retryable)


@pytest.mark.parametrize("text", [
    "exceed " * 10_000, "model " * 10_000, "api key " * 9_000, "[" * 60_000,
    "{" * 60_000, "rate limit " * 6_000, '{"error":' * 9_000,
    '{"message": "' + "quota exceeded " * 4_000 + '"}', "\0" * 60_000,
    "\udcff" * 60_000, "4" * 60_000, "429 " * 15_000, "<title>" * 9_000,
])
def test_any_text_is_taken(text):
    for status in (None, 200, 302, 401, 404, 429, 500, 999, -1):
        assert isinstance(classify(status, text), Failure)


@pytest.mark.parametrize(("page", "title"), [
    ("<title>a</title>", "a"), ("<TITLE class='x'>A\nb</Title>", "A\nb"),
    ("<p>x</p><title> a </title> b</title>", " a "),
    ("<title></title>", ""), ("<title>a", None), ("<title", None),
    ("<title</title>", None), ("</title><title>b</title>", "b"),
    ("<p>no</p>", None), ("", None),
])
def test_the_title_of_a_page(page, title):
    assert find_title(page) == title


def test_the_table_is_a_large_one():
    assert len(TEXTS) > 500
