-- Requests and outcomes of the cargo, with holds and charges.
\ir sample_texts.sql
\ir extended_requests.sql

-- The hold is one token per byte; the usage is about a quarter of that.
create temporary table priced_cargo as
with worded as (
    select f.*, i.system, i.question, i.answer, i.documents, pg_temp.style(f.work, f.model, f.n) as style,
        case when f.work = 'embedding' then i.texts_bytes + 8 * i.texts
            else octet_length(i.system) + 4 + octet_length(i.question) + 16 end as most_input,
        case when f.success then greatest(4, case when f.work = 'embedding' then i.texts_bytes / 4
            else (octet_length(i.system) + octet_length(i.question)) / 4 + 9 end) else 0 end::bigint as input_tokens,
        case when f.success and f.work <> 'embedding' then least(f.max_tokens, octet_length(i.answer) / 4 + 3) else 0 end::bigint as output_tokens
    from result f cross join lateral (
        select pg_temp.instruction(f.work) as system, pg_temp.question(f.work, f.n) as question, pg_temp.answer(f.work, f.n) as answer,
            '"' || pg_temp.document(f.n, 1) || '","' || pg_temp.document(f.n, 2) || '"' as documents,
            octet_length(pg_temp.document(f.n, 1)) + octet_length(pg_temp.document(f.n, 2)) as texts_bytes, 2 as texts
    ) i
)
select s.*, m.price_input, m.price_output, m.via,
    -- Without a price of their own, cached tokens cost as much as others.
    case when s.style in ('call', 'result') then s.input_tokens * 3 / 5 else 0 end as cached_tokens,
    case when s.style = 'call' then s.output_tokens / 2 else 0 end as thinking_tokens,
    -- As domain::response_shape: extended, with thoughts.
    case when s.style is null then 0 when s.style = 'schema' then 1 else 3 end as response_shape,
    case when m.price_input is not null then (s.most_input * m.price_input + s.max_tokens * m.price_output + 999999) / 1000000 end as held,
    case when s.model <> 'svc-mock' then s.most_input + s.max_tokens end as reserved_tokens,
    case when s.completed_at is null or m.price_input is null then null when not s.success then 0
        else (s.input_tokens * m.price_input + s.output_tokens * m.price_output + 500000) / 1000000 end as charged,
    case when s.success and m.realtime_input is not null
        then (s.input_tokens * m.realtime_input + s.output_tokens * m.realtime_output + 500000) / 1000000 end as realtime
from worded s join model m on m.number = s.model_number;

insert into shard.request (cargo, codec, body, metadata)
select id, 0, convert_to(case
        when work = 'embedding' then '{"model":"' || model || '","input_text":[' || documents || ']}'
        when style is not null then pg_temp.extended_request(style, model, max_tokens, system, question, n)
        else '{"model":"' || model || '","max_tokens":' || max_tokens || ',"messages":[{"role":"user","content":"'
            || question || '"}],"system":"' || system || '","temperature":0.2}' end, 'UTF8'),
    case when pg_temp.chance(n, 33) < 0.6 then convert_to('{"' || case work when 'support' then 'ticket' when 'embedding' then 'document'
        when 'translation' then 'article' else 'record' end || '":"' || upper(substr(md5(n::text), 1, 8)) || '","tenant":"'
        || pg_temp.one('{de,se,pl,uk,fr}', pg_temp.chance(n, 34)) || '"}', 'UTF8') end
from priced_cargo order by id;

insert into shard.outcome (cargo, success, codec, body, input_tokens, output_tokens, charged, realtime, cached_tokens, thinking_tokens, served)
select id, success, 0, convert_to(case
        when not success then error
        when work = 'embedding' then '{"id":"emb_' || replace(id::text, '-', '') || '","type":"embedding","model":"' || model || '","embeddings":['
            || vectors.one || ',' || vectors.two || '],"usage":{"input_tokens":' || input_tokens || ',"output_tokens":0}}'
        else '{"id":"msg_' || replace(id::text, '-', '') || '","type":"message","role":"assistant","content":['
            || pg_temp.answer_blocks(style, answer, n) || '],"model":"' || model || '","stop_reason":"'
            || case style when 'call' then 'tool_use' else 'end_turn' end || '","usage":{"input_tokens":' || input_tokens
            || ',"output_tokens":' || output_tokens
            || case when cached_tokens > 0 then ',"input_tokens_details":{"cached_tokens":' || cached_tokens || '}' else '' end
            || case when thinking_tokens > 0 then ',"output_tokens_details":{"thinking_tokens":' || thinking_tokens || '}' else '' end
            || '}}' end, 'UTF8'),
    input_tokens, output_tokens, charged, realtime, cached_tokens, thinking_tokens, case when success then via end
from priced_cargo left join lateral (
    select '[' || string_agg(round((pg_temp.chance(n, 70 + place) - 0.5)::numeric, 6)::text, ',') || ']' as one,
        '[' || string_agg(round((pg_temp.chance(n, 90 + place) - 0.5)::numeric, 6)::text, ',') || ']' as two
    from generate_series(1, 12) as place where priced_cargo.work = 'embedding'
) vectors on priced_cargo.work = 'embedding'
where completed_at is not null order by id;
