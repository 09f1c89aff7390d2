-- Requests with tools, thoughts, a cached prompt or a schema, and their answers. A style is null for a plain request.

create function pg_temp.style(work text, model text, n bigint) returns text
language sql stable as $$
    select case when work <> 'support' then null
        when model = 'gpt-5-mini' and pg_temp.chance(n, 35) < 0.5 then 'schema'
        when model = 'claude-sonnet' and pg_temp.chance(n, 35) < 0.3 then 'call'
        when model = 'claude-sonnet' and pg_temp.chance(n, 35) < 0.5 then 'result' end
$$;

-- The thoughts of the model, and its call of a tool.
create function pg_temp.call_blocks(n bigint) returns text
language sql stable as $$
    select concat('{"type":"thinking","thinking":"The customer names an order. I look it up before I promise anything.","signature":"v1.anthropic.RXVZQ0tB"},',
        '{"type":"tool_use","id":"toolu_', substr(md5('call' || n), 1, 24), '","name":"find_order","input":{"order":"', 400000 + n * 7 % 599999, '"}}')
$$;

create function pg_temp.extended_request(style text, model text, max_tokens bigint, system text, question text, n bigint) returns text
language sql stable as $$
    select concat('{"model":"', model, '","max_tokens":', max_tokens, ',"messages":[{"role":"user","content":"', question, '"}',
        case when style = 'result' then concat(',{"role":"assistant","content":[', pg_temp.call_blocks(n),
            ']},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_', substr(md5('call' || n), 1, 24),
            '","content":"Sent on Monday, in the depot in Kassel since then."}]}') end,
        case when style = 'schema' then concat('],"system":"', system, '","output_config":{"format":{"type":"json_schema","schema":{"type":"object",',
            '"properties":{"reply":{"type":"string"},"needs_person":{"type":"boolean"}},"required":["reply","needs_person"],"additionalProperties":false}}}}')
        else concat('],"system":[{"type":"text","text":"', system, '","cache_control":{"type":"ephemeral"}}],"tools":[{"name":"find_order",',
            '"description":"Finds an order by its number.","input_schema":{"type":"object","properties":{"order":{"type":"string"}},"required":["order"]}}],',
            '"thinking":{"type":"enabled","budget_tokens":1024}}') end)
$$;

-- The content of an answer.
create function pg_temp.answer_blocks(style text, answer text, n bigint) returns text
language sql stable as $$
    select case style when 'call' then pg_temp.call_blocks(n)
        else concat('{"type":"text","text":', to_json(case style when 'schema'
            then concat('{"reply":"', answer, '","needs_person":', case when n % 3 = 0 then 'true' else 'false' end, '}') else answer end), '}') end
$$;
