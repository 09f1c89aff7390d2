-- Rows as programs write them: {set} is a number of four digits, so that there can be several sets.
-- What follows `since N` needs migration N.

-- since 8
select shard.make_day('2026-01-05');
insert into shard.account (organization, opened_at, posted, held, postings)
    values ('00000000-0000-0000-0001-00000000{set}', '2026-01-05 12:00Z', 100, 10, 1);
insert into shard.posting (organization, number, kind, at, credit, revenue, loss, funding, balance, reference)
    values ('00000000-0000-0000-0001-00000000{set}', 1, 'deposit', '2026-01-05 12:00Z', 100, 0, 0, -100, 100, 'first');
insert into shard.lane (provider, model, kind, via) values ('mock', 'model-{set}', 'chat', 'batch');
insert into shard.cargo (id, organization, project, api_key, lane, model, created_at, callback_url, callback_host, held,
        price_input, price_output)
    select (left(shard.id_floor('2026-01-05 12:00Z')::text, 32) || '{set}')::uuid, '00000000-0000-0000-0001-00000000{set}',
        '00000000-0000-0000-0002-00000000{set}', '00000000-0000-0000-0003-00000000{set}', 1, 'svc-mock',
        '2026-01-05 12:00Z', 'https://receiver.example/hook', 'receiver.example', 10, 5, 5;
insert into shard.request (cargo, codec, body)
    select (left(shard.id_floor('2026-01-05 12:00Z')::text, 32) || '{set}')::uuid, 0, '\x7b7d';
insert into shard.waiting (lane, organization, cargo)
    select 1, '00000000-0000-0000-0001-00000000{set}', (left(shard.id_floor('2026-01-05 12:00Z')::text, 32) || '{set}')::uuid;
insert into shard.batch (id, lane, state, cargo, gathered_at)
    select '00000000-0000-0000-0004-00000000{set}', 1, 'gathered',
        array[(left(shard.id_floor('2026-01-05 12:00Z')::text, 32) || '{set}')::uuid], '2026-01-05 12:01Z';
update shard.batch set state = 'submitting', submitting_at = '2026-01-05 12:02Z', sent_at = '2026-01-05 12:02Z'
    where id = '00000000-0000-0000-0004-00000000{set}';
update shard.batch set state = 'running', running_at = '2026-01-05 12:02Z', job = 'job-{set}', next_poll_at = '2026-01-05 12:03Z'
    where id = '00000000-0000-0000-0004-00000000{set}';
insert into shard.share (project, batch, cargo)
    values ('00000000-0000-0000-0002-00000000{set}', '00000000-0000-0000-0004-00000000{set}', 1);
insert into shard.outcome (cargo, success, codec, body, input_tokens, output_tokens, charged)
    select (left(shard.id_floor('2026-01-05 12:00Z')::text, 32) || '{set}')::uuid, true, 0, '\x7b7d', 1, 1, 10;
update shard.cargo set batch = '00000000-0000-0000-0004-00000000{set}', completed_at = '2026-01-05 12:04Z', success = true
    where id = (left(shard.id_floor('2026-01-05 12:00Z')::text, 32) || '{set}')::uuid;
insert into shard.delivery (cargo, organization, host, due_at)
    select (left(shard.id_floor('2026-01-05 12:00Z')::text, 32) || '{set}')::uuid, '00000000-0000-0000-0001-00000000{set}',
        'receiver.example', '2026-01-05 12:04Z';
insert into shard.attempt (cargo, number, started_at, ended_at, status)
    select (left(shard.id_floor('2026-01-05 12:00Z')::text, 32) || '{set}')::uuid, 1, '2026-01-05 12:04Z', '2026-01-05 12:05Z', 500;
insert into shard.trouble (project, kind, cargo, label)
    select '00000000-0000-0000-0002-00000000{set}', 'callback_failed',
        (left(shard.id_floor('2026-01-05 12:00Z')::text, 32) || '{set}')::uuid, 'receiver.example';
insert into shard.usage_delta (hour, project, api_key, model, event, count, input_tokens, output_tokens, money)
    values ('2026-01-05 12:00Z', array['00000000-0000-0000-0002-00000000{set}'::uuid],
        array['00000000-0000-0000-0003-00000000{set}'::uuid], array['svc-mock'], array['loaded'], array[1], array[1], array[1], array[0]);
insert into shard.usage (project, hour, api_key, model, event, count, input_tokens, output_tokens)
    values ('00000000-0000-0000-0002-00000000{set}', '2026-01-05 12:00Z', '00000000-0000-0000-0003-00000000{set}', 'svc-mock',
        'loaded', 1, 1, 1);
insert into shard.callback_delta (hour, project, host, ending, class, count)
    values ('2026-01-05 12:00Z', array['00000000-0000-0000-0002-00000000{set}'::uuid], array['receiver.example'], array['refused'],
        array[1], array[1]);
insert into shard.callback_hour (project, hour, host, ending, class, count)
    values ('00000000-0000-0000-0002-00000000{set}', '2026-01-05 12:00Z', 'receiver.example', 'refused', 1, 1);
insert into shard.closing (organization, day, settled, released, charged)
    values ('00000000-0000-0000-0001-00000000{set}', '2026-01-01', 1, 1, 1);
insert into shard.idempotency (project, key, digest, cargo, created_at)
    values ('00000000-0000-0000-0002-00000000{set}', 'key', '\x01', '00000000-0000-0000-0004-00000000{set}', '2026-01-05 12:00Z');
insert into shard.resend (id, organization, project, host, first, last, total, per_second, next_at, started_by, started_at)
    values ('00000000-0000-0000-0005-00000000{set}', '00000000-0000-0000-0001-00000000{set}', '00000000-0000-0000-0002-00000000{set}',
        'receiver.example', '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000001', 1, 1,
        '2026-01-05 12:00Z', 'ada', '2026-01-05 12:00Z');
insert into shard.node (node, name, seen_until) values ('00000000-0000-0000-0006-00000000{set}', 'host:1', '2026-01-05 12:00Z');
insert into shard.storage (organization, files, bytes) values ('00000000-0000-0000-0001-00000000{set}', 1, 1);
insert into shard.object (id, organization, project, sha256, size_bytes, media_type, files, created_at)
    values ('00000000-0000-0000-0007-00000000{set}', '00000000-0000-0000-0001-00000000{set}', '00000000-0000-0000-0002-00000000{set}',
        '\x01', 1, 'image/png', 1, '2026-01-05 12:00Z');
insert into shard.file (id, organization, project, status, kind, media_type, filename, size_bytes, sha256, ttl_seconds, created_at)
    values ('00000000-0000-0000-0007-00000000{set}', '00000000-0000-0000-0001-00000000{set}', '00000000-0000-0000-0002-00000000{set}',
        'uploading', 'image', 'image/png', 'a.png', 1, decode(repeat('00', 32), 'hex'), 60, '2026-01-05 12:00Z');
insert into shard.provider (name) values ('account-{set}');

-- since 9
insert into shard.callback_setting (project, version) values ('00000000-0000-0000-0002-00000000{set}', 0);
insert into shard.key_spending (api_key, month, organization, held, spent)
    values ('00000000-0000-0000-0003-00000000{set}', '2026-01-01', '00000000-0000-0000-0001-00000000{set}', 1, 1);

-- since 10
insert into shard.retention (project, days, next_at) values ('00000000-0000-0000-0002-00000000{set}', 7, '2026-01-05 12:00Z');
insert into shard.erasure (cargo, project, due_at)
    values ('00000000-0000-0000-0004-00000000{set}', '00000000-0000-0000-0002-00000000{set}', '2026-01-05 12:00Z');
insert into shard.provider_file (provider, job, due_at) values ('account', 'job-{set}', '2026-01-05 12:00Z');
insert into shard.data_key (project, number, master_key, created_at)
    values ('00000000-0000-0000-0002-00000000{set}', 1, 'first', '2026-01-05 12:00Z');

-- since 12
insert into shard.cargo_group (id, organization, project, name, created_at)
    values ('00000000-0000-0000-0008-00000000{set}', '00000000-0000-0000-0001-00000000{set}', '00000000-0000-0000-0002-00000000{set}',
        'group', '2026-01-05 12:00Z');
insert into shard.group_member (group_id, position, custom_id_digest, load_digest, cargo)
    values ('00000000-0000-0000-0008-00000000{set}', 0, '\x01', '\x01', '00000000-0000-0000-0004-00000000{set}');
insert into shard.group_result (group_id, number, position, cargo)
    values ('00000000-0000-0000-0008-00000000{set}', 1, 0, '00000000-0000-0000-0004-00000000{set}');
insert into shard.group_failure (group_id, label, count, cargo)
    values ('00000000-0000-0000-0008-00000000{set}', 'failed', 1, '00000000-0000-0000-0004-00000000{set}');
insert into shard.feed (cargo, group_id) values (array['00000000-0000-0000-0004-00000000{set}'::uuid], array[]::uuid[]);
insert into shard.listener (project, name, id, seen_at)
    values ('00000000-0000-0000-0002-00000000{set}', 'laptop', '00000000-0000-0000-0009-00000000{set}', '2026-01-05 12:00Z');
insert into shard.parcel (id, organization, project, facade, created_at, expires_at)
    values ('00000000-0000-0000-0010-00000000{set}', '00000000-0000-0000-0001-00000000{set}', '00000000-0000-0000-0002-00000000{set}',
        1, '2026-01-05 12:00Z', '2026-01-06 12:00Z');
insert into shard.parcel_block (parcel, block, first_item, codec, body)
    values ('00000000-0000-0000-0010-00000000{set}', 0, 0, 0, '\x7b7d');
insert into shard.dropin_batch (group_id, organization, project, api_key, facade, parcel, created_at, expires_at, items, body_digest,
        is_retry)
    values ('00000000-0000-0000-0008-00000000{set}', '00000000-0000-0000-0001-00000000{set}', '00000000-0000-0000-0002-00000000{set}',
        '00000000-0000-0000-0003-00000000{set}', 1, '00000000-0000-0000-0010-00000000{set}', '2026-01-05 12:00Z',
        '2026-01-06 12:00Z', 1, '\x01', false);

-- since 15
insert into shard.opening (organization, number, balance, settled, charged, closed_day)
    values ('00000000-0000-0000-0001-00000000{set}', 1, 1, 1, 1, '2026-01-01');
insert into shard.frozen_day (day) values (date '2026-01-01' + {number});
insert into shard.history_floor (task, until) values ('usage', '2026-01-01') on conflict do nothing;

-- since 16
insert into shard.unaudited (cargo) values (array['00000000-0000-0000-0004-00000000{set}'::uuid]);
insert into shard.ledger_pass (number, started_at, first_day, position)
    values ({number}, '2026-01-05 12:00Z', '2026-01-01', '00000000-0000-0000-0004-00000000{set}');
insert into shard.ledger_sum (pass, organization, month, api_key, held, reserved, used, charged)
    values ({number}, '00000000-0000-0000-0001-00000000{set}', '2026-01-01', '00000000-0000-0000-0003-00000000{set}', 1, 1, 1, 1);
insert into shard.ledger_settled (pass, organization, number, settled)
    values ({number}, '00000000-0000-0000-0001-00000000{set}', 1, 1);
insert into shard.ledger_gap (pass, organization) values ({number}, '00000000-0000-0000-0001-00000000{set}');
insert into shard.ledger_fault (invariant, organization, expected, found)
    values ('held', '00000000-0000-0000-0001-00000000{set}', '1', '2');
