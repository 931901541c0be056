// Made from the heads of the scripts by scripts/setup/lua-script-table.mjs; `npm run build` writes it anew.

/** The keys of each script, and behind a bar its arguments; the last of them is `...` if further ones follow. */
export interface ScriptTable {
  acquire: 'owner | new_owner replaces is_first';
  'append-audit': 'audit answered | keep text';
  'append-events': 'events | keep process sequence count dropped entry';
  'cancel-tagged': 'scheduled inflight messages deliveries dead errors keyed meta blocked queues places running resting finished endings tags tagged answered claims | wake_command channel sequence tag after_id';
  cancel: 'scheduled inflight messages deliveries dead errors keyed meta blocked queues places running resting finished endings tags tagged answered claims | wake_command channel sequence remember_ms id seen_at seen_envelope';
  claim: 'scheduled inflight messages deliveries dead errors keyed owner meta blocked queues places running rates rated resting finished endings tags tagged handed claims | claimant sequence delivered max lease room whole_room finished_limits terms shares_from tokens ...';
  clear: 'set messages deliveries errors keyed meta scheduled inflight dead blocked queues places running resting finished endings tags tagged answered claims | wake_command channel sequence counter';
  configure: 'config | partitions max_partitions protocol raised max_protocol order limits handling is_known';
  'count-due': 'scheduled blocked | ...';
  'due-schedules': 'schedules occurrences | limit ahead skip';
  edit: 'scheduled blocked messages meta answered | sequence id expected envelope';
  explain: 'scheduled inflight messages deliveries dead errors blocked places owner meta resting claims | id';
  extend: 'inflight scheduled deliveries answered claims blocked | sequence lease ...';
  'forget-sessions': 'sessions handled processes holdings answered | sequence ...';
  get: 'scheduled inflight messages deliveries dead errors keyed blocked places finished endings meta claims | id';
  hold: 'meta answered | sequence delay';
  leave: 'sessions | session count left_record';
  'list-tagged': 'scheduled inflight dead blocked messages deliveries errors meta tags tagged claims | tag state limit max_bytes after_id';
  list: 'set messages deliveries errors keyed scheduled claims blocked | limit max_bytes since till fields is_dead after_score after_id';
  pause: 'meta answered | sequence';
  permit: 'permits | session sequence held idle wanted lease max_rate window most_in_flight patience returned lead slack ahead';
  probe: 'key | wake_command channel';
  'publish-occurrence': 'scheduled inflight messages deliveries dead errors keyed meta blocked queues places running resting finished endings tags tagged answered owner schedules occurrences claims | wake_command channel sequence order_mode columns claimant schedule expected state skipping next_at prefix suffix ...';
  publish: 'scheduled inflight messages deliveries dead errors keyed meta blocked queues places running resting finished endings tags tagged answered claims | wake_command channel sequence remember_ms order_mode columns ...';
  'put-schedule': 'schedules occurrences answered | wake_command channel sequence id is_new expected state rest next_at';
  release: 'owner | given_up epoch';
  'remove-dead': 'dead messages deliveries errors keyed scheduled inflight blocked queues places running resting meta tags tagged answered claims | wake_command channel sequence ...';
  'remove-field': 'record answered | sequence field';
  'remove-schedule': 'schedules occurrences answered | sequence id';
  'replace-field': 'record answered | sequence field value replaces is_first';
  'report-work': 'work history spans | session number keep span keep_history ...';
  report: 'sessions processes holdings | session number state held';
  'requeue-dead': 'scheduled inflight messages deliveries dead errors keyed meta blocked queues places running resting tags tagged answered claims | wake_command channel sequence delay ...';
  reschedule: 'scheduled inflight messages deliveries dead blocked queues places running resting answered claims | wake_command channel sequence remember_ms id due_spec when seen_at seen_envelope';
  resume: 'meta answered | wake_command channel sequence';
  'set-aside': 'scheduled inflight messages deliveries dead errors keyed meta blocked queues places running resting answered claims | wake_command channel sequence id token failure';
  'set-field': 'record | field value';
  'set-keys-aside': 'key aside | expected_type';
  'set-terms': 'config answered | sequence limits handling';
  settle: 'scheduled inflight messages deliveries dead errors keyed meta blocked queues places running rates rated resting finished endings tags tagged answered owner claims | wake_command channel sequence process durations outcomes tokens claimant ...';
  stats: 'scheduled inflight dead owner meta blocked finished errors claims | ';
  'trim-dead': 'dead messages deliveries errors keyed scheduled inflight blocked queues places running resting meta tags tagged answered claims | wake_command channel sequence max_age max_count';
  'trim-finished': 'finished endings messages keyed meta | ';
}
