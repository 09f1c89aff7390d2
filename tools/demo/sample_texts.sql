-- Texts of requests and answers. None of them needs an escape in JSON: no quotes, no line breaks.

create function pg_temp.person(n bigint) returns text
language sql stable as $$
    select pg_temp.one('{Amina Yusuf,Jonas Weber,Clara Lindqvist,Mateo Rossi,Ines Duarte,Priya Nair,Tom Becker,Yuki Tanaka,Olga Petrova,Samuel Osei,Hanna Virtanen,Luca Moretti,Nora Haddad,Piotr Zielinski,Emma Dubois,Daniel Kim}',
        pg_temp.chance(n, 40))
$$;

create function pg_temp.instruction(work text) returns text
language sql stable as $$
    select case work
        when 'support' then 'You answer for the support team of a shop for outdoor clothing. Be kind and concrete, at most 120 words, in the language of the customer. Never promise a refund: say what happens next and when.'
        when 'moderation' then 'Say whether this text may be published: allowed, needs review or refused, then one sentence of reason.'
        when 'translation' then 'Translate for a web shop. Keep names of products, numbers and units as they are. Answer with the translation alone.'
        when 'invoice' then 'Read the invoice and list supplier, number, date, net amount, tax, total and the account that it belongs to. Say what is missing.'
        when 'claim' then 'You are a claims adjuster. Rate the risk of fraud from 0 to 10 and name the two facts that weigh most.'
        when 'summary' then 'Summarise the article for the morning newsletter in three sentences, neutral in tone, with the figures that matter.'
    end
$$;

create function pg_temp.question(work text, n bigint) returns text
language sql stable as $$
    select case work
        when 'support' then concat('Ticket ', 100000 + n % 899999, ' from ', pg_temp.person(n), ': ',
            pg_temp.one(array['The zip of my Fjell jacket came apart on the second day.',
                'My parcel has been in the depot in Kassel for nine days now.',
                'I ordered boots in 42 and received 39, and the label inside says 42.',
                'Your shop charged my card twice for the same order.',
                'The voucher from the newsletter is not accepted at the checkout.',
                'The tent that I bought in May lets water through at the seams.',
                'I would like to change the address of an order that has not been sent yet.',
                'I returned two shirts three weeks ago and have heard nothing since.'], pg_temp.chance(n, 41)), ' ',
            pg_temp.one(array['The order is number ', 'You find it under order ', 'It concerns order '], pg_temp.chance(n, 42)),
            400000 + n * 7 % 599999, ' of ', to_char(timestamp '2026-05-01' + interval '1 day' * (n % 180), 'DD FMMonth'), '. ',
            pg_temp.one(array['We leave for Norway on Friday, so I need an answer before that.',
                'I have written twice already and would be glad about an answer from a person.',
                'I attached pictures to my first message; please tell me if you need more.',
                'If it can be repaired, I would rather keep it than send it back.',
                'Please also tell me what the return costs and who pays for it.'], pg_temp.chance(n, 43)))
        when 'moderation' then concat('Review of product ', 2000 + n % 7000, ' by ', pg_temp.person(n), ': ',
            pg_temp.one(array['Fits well, warm enough for autumn, and the colour is as in the picture. I would buy it again.',
                'Absolute rubbish, the seller should be ashamed. Buy it at the other shop, the link is in my profile.',
                'The sleeves are too short for tall people. The service was friendly and took it back without questions.',
                'I called the person on the hotline and he knew nothing at all, his number is 0151 5550172.',
                'Survived three weeks of rain in Scotland. The pockets could be deeper.'], pg_temp.chance(n, 41)))
        when 'translation' then concat(
            pg_temp.one(array['German to French: Die wasserdichte Regenjacke Fjell 3 wiegt nur 410 Gramm und passt in ihre eigene Tasche. Nähte verschweißt, Kapuze verstellbar.',
                'English to German: Waxed cotton keeps the wind out and lets you breathe. Wipe it clean, hang it up, wax it once a year.',
                'French to English: Le sac à dos Horizon 28 litres porte votre ordinateur, une gourde et le reste de la journée. Garanti dix ans.',
                'English to Swedish: Merino wool socks for long days. Knitted without a seam at the toes, reinforced at the heel. Wash at 30 degrees.',
                'German to Polish: Der Schlafsack Polar hält bis minus 12 Grad warm. Daunen aus zertifizierter Haltung, Reißverschluss links oder rechts.'], pg_temp.chance(n, 42)),
            ' Article ', 30000 + n % 60000, '.')
        when 'invoice' then concat(pg_temp.one('{Hansen Logistik GmbH,Bright Office Ltd,Carrozzeria Conti,Dr. Weiss Gutachten,Metro Glass Works,Alpine Towing AG}', pg_temp.chance(n, 41)),
            ', invoice ', 'R-', 2026000 + n % 9999, ', ', to_char(date '2026-09-01' + (n % 70)::int, 'YYYY-MM-DD'), '. ',
            pg_temp.one(array['Replacement of the windscreen including calibration of the camera', 'Towing over 38 km on a Sunday and storage for four days',
                'Expert opinion on water damage in the cellar, with 24 photographs', 'Body work on the left rear door, paint and materials',
                'Rental of a dryer for twelve days, electricity not included'], pg_temp.chance(n, 42)),
            ': net ', (90 + n % 2400), '.', lpad((n % 100)::text, 2, '0'), ' EUR, 19 percent tax. Payable within 14 days to the account ending in ', lpad((n % 10000)::text, 4, '0'),
            '. Claim number ', 'K-', 700000 + n % 99999, '. Please state it when you pay.')
        when 'claim' then concat('Claim K-', 700000 + n % 99999, ', policy since ', 2009 + n % 16, ', insured person ', pg_temp.person(n), '. ',
            pg_temp.one(array['Bicycle stolen from the cellar, lock cut, no witness, third claim within two years.',
                'Phone fell into the lake during a boat trip; bought eleven days before, receipt attached.',
                'Collision while parking, other driver unknown, damage on the right front wing and the headlight.',
                'Burst pipe over the holidays, parquet in two rooms, plumber found a frozen joint.'], pg_temp.chance(n, 41)),
            ' Reported ', 1 + n % 12, ' days after the event. Amount claimed ', 150 + n % 4800, ' EUR.')
        when 'summary' then concat(pg_temp.one(array['The city council voted on Tuesday to close the ring road to through traffic from April on.',
                'Exports of machine tools rose for the third month in a row, the association reported in Frankfurt.',
                'After the storm of last week the port has resumed work on all but two of its terminals.',
                'The university opens its new institute for materials next spring, two years later than planned.'], pg_temp.chance(n, 41)), ' ',
            'Of ', 40 + n % 60, ' members present ', 21 + n % 19, ' agreed, and the costs were put at ', 2 + n % 38, ' million euros. ',
            pg_temp.one(array['Shopkeepers had warned of fewer customers; a study of the planning office expects the opposite within a year.',
                'Economists see orders from overseas as the reason, and warn that the stocks of customers are nearly full.',
                'Residents were told in a letter; a hearing is to follow in the town hall, with an interpreter.'], pg_temp.chance(n, 42)),
            ' The mayor spoke of a beginning and said that the figures would be published every month. Dispatch ', n % 100000, '.')
    end
$$;

create function pg_temp.answer(work text, n bigint) returns text
language sql stable as $$
    select case work
        when 'support' then concat('Dear ', pg_temp.person(n), ', thank you for writing, and I am sorry for the trouble. ',
            pg_temp.one(array['I have opened a case with the carrier; they answer within two working days, and I write to you the same day.',
                'Please send the item back with the label in this message. Our workshop looks at it within a week and tells you what can be done.',
                'I found both bookings. The second one is a reservation that your bank releases automatically, usually within five days.',
                'The order has not left us, so I have changed the address. You will get a new confirmation in a few minutes.'], pg_temp.chance(n, 44)), ' ',
            pg_temp.one(array['The return costs you nothing.', 'If you need it before a journey, tell me the date and I will see what is in the shop near you.',
                'You can answer to this message at any time; it reaches me and not a machine.'], pg_temp.chance(n, 45)), ' Kind regards, the support team')
        when 'moderation' then pg_temp.one(array['Allowed. The review describes the product and attacks no person.', 'Needs review. It advertises another shop.',
            'Refused. It contains the telephone number of a person.', 'Allowed. Critical, but about the product.'], pg_temp.chance(n, 44))
        when 'translation' then pg_temp.one(array['La veste imperméable Fjell 3 ne pèse que 410 grammes et se range dans sa propre poche. Coutures soudées, capuche réglable.',
            'Gewachste Baumwolle hält den Wind ab und lässt Sie atmen. Abwischen, aufhängen, einmal im Jahr wachsen.',
            'The Horizon 28 litre backpack carries your laptop, a bottle and the rest of the day. Guaranteed for ten years.',
            'Merinosockor för långa dagar. Stickade utan söm vid tårna, förstärkta vid hälen. Tvätta i 30 grader.',
            'Śpiwór Polar grzeje do minus 12 stopni. Puch z certyfikowanej hodowli, zamek po lewej lub prawej stronie.'], pg_temp.chance(n, 42))
        when 'invoice' then concat('Supplier as printed. Number R-', 2026000 + n % 9999, ', date ', to_char(date '2026-09-01' + (n % 70)::int, 'YYYY-MM-DD'),
            ', net ', (90 + n % 2400), '.', lpad((n % 100)::text, 2, '0'), ' EUR, tax 19 percent. Account: ', pg_temp.one('{6520 vehicle damage,6540 towing,6710 expert opinions,6300 buildings}', pg_temp.chance(n, 44)),
            '. Missing: ', pg_temp.one('{nothing,the tax number of the supplier,the date of delivery}', pg_temp.chance(n, 45)), '.')
        when 'claim' then concat('Risk ', n % 11, ' of 10. ', pg_temp.one(array['Weighs most: several claims in a short time; no witness.', 'Weighs most: reported late; bought only days before.',
            'Weighs most: the damage fits the description; the receipt is original.'], pg_temp.chance(n, 44)))
        when 'summary' then concat(pg_temp.one(array['The council closes the ring road to through traffic from April.', 'Exports of machine tools rose for a third month.', 'The port works again, but for two terminals.', 'The new institute opens two years late.'], pg_temp.chance(n, 41)),
            ' ', 21 + n % 19, ' members agreed; the costs are put at ', 2 + n % 38, ' million euros. Figures are to be published monthly, and a hearing follows in the town hall.')
    end
$$;

-- A document for an embedding: a few sentences of a catalogue or an archive.
create function pg_temp.document(n bigint, place integer) returns text
language sql stable as $$
    select concat(pg_temp.one(array['Rain jacket for women, three layers, sealed seams, 410 g.', 'Trekking boot, leather, resoleable, for feet that are wide at the toes.',
            'Letter of the port master to the council, 1911, on the dredging of the northern basin.', 'Interview with the last lamplighter of the old town, recorded in 1974, in dialect.',
            'Family tent for four, two rooms, stands without guy lines, 9.8 kg.', 'Report on the flood of 1953: water levels at eleven gauges, hour by hour.'], pg_temp.chance(n, 50 + place)), ' ',
        pg_temp.one(array['Available in slate, moss and rust.', 'See also the file on the pumping stations.', 'Care: wash at 30 degrees, no softener.', 'Two pages, one map, water stains at the lower edge.'], pg_temp.chance(n, 60 + place)),
        ' Number ', n * 3 % 1000000 + place, '.')
$$;
