"""Every key that a config.toml of March 2026 may hold. Data only.

A known key is silent even where claw does not use it yet. `*` stands for any
name (maps, and the entries of arrays of tables); a key `*` takes any value
below it. Channels that claw has bring their keys themselves, so the names of
platforms here are those that it lacks.
Source: the reference's config schema of 2026-03-24.
"""

# Its spellings of keys that a channel of claw has: (channel, spelling, key).
SPELLINGS = (
    ("whatsapp", "allowed_numbers", "allowed_users"),
)

REFERENCE = """
: api_key api_url api_path locale default_provider default_model
: default_temperature provider_timeout_secs extra_headers.*
autonomy: level workspace_only allowed_commands forbidden_paths
autonomy: max_actions_per_hour max_cost_per_day_cents allowed_roots
autonomy: require_approval_for_medium_risk block_high_risk_commands
autonomy: shell_env_passthrough auto_approve always_ask
autonomy: non_cli_excluded_tools
workspace: enabled active_workspace workspaces_dir isolate_memory
workspace: isolate_secrets isolate_audit cross_workspace_search
model_providers.*: name base_url api_path wire_api requires_openai_auth
model_providers.*: azure_openai_resource azure_openai_deployment
model_providers.*: azure_openai_api_version
delegate: timeout_secs agentic_timeout_secs
agents.*: provider model system_prompt api_key temperature max_depth agentic
agents.*: allowed_tools max_iterations timeout_secs agentic_timeout_secs
agents.*: skills_directory
swarms.*: agents strategy router_prompt description timeout_secs
transcription: enabled default_provider api_key api_url model language
transcription: initial_prompt max_duration_secs transcribe_non_ptt_audio
transcription: openai.* deepgram.* assemblyai.* google.* local_whisper.*
mcp: enabled deferred_loading
mcp.servers.*: name transport url command args env.* headers.*
mcp.servers.*: tool_timeout_secs
tts: enabled default_provider default_voice default_format max_text_length
tts: openai.* elevenlabs.* google.* edge.* piper.*
agent: compact_context max_tool_iterations max_history_messages
agent: max_context_tokens parallel_tools tool_dispatcher
agent: tool_call_dedup_exempt max_system_prompt_chars context_aware_tools
agent.tool_filter_groups.*: mode tools keywords filter_builtins
agent.thinking: default_level
agent.history_pruning: enabled max_tokens keep_recent collapse_tool_results
agent.eval: enabled min_quality_score max_retries
agent.auto_classify: simple_hint standard_hint complex_hint
agent.auto_classify: cost_optimized_hint
pacing: step_timeout_secs loop_detection_min_elapsed_secs loop_ignore_tools
pacing: message_timeout_scale_max loop_detection_enabled
pacing: loop_detection_window_size loop_detection_max_repeats
skills: open_skills_enabled open_skills_dir allow_scripts
skills: prompt_injection_mode
skills.skill_creation: enabled max_skills similarity_threshold
multimodal: max_images max_image_size_mb allow_remote_fetch vision_provider
multimodal: vision_model
identity: format aieos_path aieos_inline
cost: enabled daily_limit_usd monthly_limit_usd warn_at_percent
cost: allow_override
gateway: port host require_pairing allow_public_bind paired_tokens
gateway: pair_rate_limit_per_minute webhook_rate_limit_per_minute
gateway: trust_forwarded_headers path_prefix rate_limit_max_keys
gateway: idempotency_ttl_secs idempotency_max_keys session_persistence
gateway: session_ttl_hours
gateway.pairing_dashboard: code_length code_ttl_secs max_pending_codes
gateway.pairing_dashboard: max_failed_attempts lockout_secs
secrets: encrypt
browser: enabled allowed_domains session_name backend native_headless
browser: native_webdriver_url native_chrome_path computer_use.*
http_request: enabled allowed_domains max_response_size timeout_secs
http_request: allow_private_hosts
web_fetch: enabled allowed_domains blocked_domains max_response_size
web_fetch: timeout_secs
web_fetch.firecrawl: enabled api_key_env api_url mode
link_enricher: enabled max_links timeout_secs
shell_tool: timeout_secs
web_search: enabled provider brave_api_key searxng_instance_url max_results
web_search: timeout_secs
backup: enabled max_keep include_dirs destination_dir schedule_cron
backup: schedule_timezone compress encrypt
data_retention: enabled retention_days dry_run categories
proxy: enabled http_proxy https_proxy all_proxy no_proxy scope services
storage.provider.config: provider db_url schema table connect_timeout_secs
storage.provider.config: pgvector_enabled pgvector_dimensions
memory: backend auto_save hygiene_enabled archive_after_days
memory: purge_after_days conversation_retention_days embedding_provider
memory: embedding_api_key undo_retention_days history_retention_days
memory: max_size_mb merge max_versions consolidation_turns
memory: embedding_model embedding_dimensions vector_weight keyword_weight
memory: min_relevance_score embedding_cache_size chunk_max_tokens
memory: response_cache_enabled response_cache_ttl_minutes
memory: response_cache_max_entries response_cache_hot_entries
memory: snapshot_enabled snapshot_on_hygiene auto_hydrate retrieval_stages
memory: rerank_enabled rerank_threshold fts_early_return_score
memory: default_namespace conflict_threshold audit_enabled
memory: audit_retention_days sqlite_open_timeout_secs
memory.qdrant: url collection api_key
memory.policy: max_entries_per_namespace max_entries_per_category
memory.policy: retention_days_by_category.* read_only_namespaces
observability: backend otel_endpoint otel_service_name runtime_trace_mode
observability: runtime_trace_path runtime_trace_max_entries
hooks: enabled
hooks.builtin: command_logger
hooks.builtin.webhook_audit: enabled url tool_patterns include_args
hooks.builtin.webhook_audit: max_args_bytes
runtime: kind reasoning_enabled reasoning_effort
runtime.docker: image network memory_limit_mb cpu_limit read_only_rootfs
runtime.docker: mount_workspace allowed_workspace_roots
reliability: provider_retries provider_backoff_ms fallback_providers api_keys
reliability: model_fallbacks.* channel_initial_backoff_secs
reliability: channel_max_backoff_secs scheduler_poll_secs scheduler_retries
scheduler: enabled max_tasks max_concurrent
model_routes.*: hint provider model api_key
embedding_routes.*: hint provider model dimensions api_key
query_classification: enabled
query_classification.rules.*: hint keywords patterns min_length max_length
query_classification.rules.*: priority
heartbeat: enabled interval_minutes two_phase message target to adaptive
heartbeat: min_interval_minutes max_interval_minutes deadman_timeout_minutes
heartbeat: deadman_channel deadman_to max_run_history load_session_context
cron: enabled catch_up_on_startup max_run_history
cron.jobs.*: id name job_type schedule.* command prompt enabled model
cron.jobs.*: allowed_tools session_target
cron.jobs.*.delivery: mode channel to best_effort
tunnel: provider cloudflare.* tailscale.* ngrok.* openvpn.* custom.*
tunnel: pinggy.*
channels_config: cli message_timeout_secs ack_reactions show_tool_calls
channels_config: session_persistence session_backend session_ttl_hours
channels_config.discord_history: bot_token guild_id allowed_users
channels_config.discord_history: channel_ids store_dms respond_to_dms
channels_config.discord_history: proxy_url
channels_config.signal: http_url account group_id allowed_from
channels_config.signal: ignore_attachments ignore_stories proxy_url
channels_config.linq: api_token from_phone signing_secret allowed_senders
channels_config.wati: api_token api_url tenant_id allowed_numbers proxy_url
channels_config.nextcloud_talk: base_url app_token webhook_secret
channels_config.nextcloud_talk: allowed_users proxy_url
channels_config.gmail_push: *
channels_config.wecom: webhook_key allowed_users
channels_config.qq: app_id app_secret allowed_users proxy_url
channels_config.twitter: bearer_token allowed_users
channels_config.mochat: api_url api_token allowed_users poll_interval_secs
channels_config.reddit: client_id client_secret refresh_token username
channels_config.reddit: subreddit
channels_config.bluesky: handle app_password
channels_config.clawdtalk: *
channels_config.voice_wake: wake_word silence_timeout_ms energy_threshold
channels_config.voice_wake: max_capture_secs
channels_config.nostr: private_key relays allowed_pubkeys
security.otp: enabled method token_ttl_secs cache_valid_secs gated_actions
security.otp: gated_domains gated_domain_categories challenge_max_attempts
security.estop: enabled state_file require_otp_to_resume
security.sandbox: enabled backend firejail_args
security.resources: max_memory_mb max_cpu_time_seconds max_subprocesses
security.resources: memory_monitoring
security.audit: enabled log_path max_size_mb sign_events
notion: *
jira: *
composio: *
microsoft365: *
google_workspace: *
knowledge: *
project_intel: *
security.nevis: *
nodes: *
plugins: *
peripherals: *
hardware: *
"""
