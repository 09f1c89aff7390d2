//! Prices by bucket, with steps, and what a wrong one is told.

use super::*;

fn parse_price(text: &str) -> Result<Prices, String> {
    let mut lines = Vec::new();
    let mut errors = EntryErrors::for_entry("model", "a", &mut lines);
    let prices = validate(&toml::from_str(text).unwrap(), ModelKind::Chat, &mut errors);
    if lines.is_empty() {
        return Ok(prices.unwrap());
    }
    Err(lines.join("\n"))
}

fn parse_cost(text: &str) -> Result<Price, String> {
    let mut lines = Vec::new();
    let mut errors = EntryErrors::for_entry("model", "a", &mut lines);
    let price = validate_cost(&toml::from_str(text).unwrap(), ModelKind::Chat, &mut errors);
    price.ok_or_else(|| lines.join("\n"))
}

/// Rates in thousandths of a dollar.
const fn millis(rates: [i64; 5]) -> Rates {
    let [input, cached_input, cache_write, cache_write_1h, output] = rates;
    Rates {
        input: Money(input * 1_000_000),
        cached_input: Money(cached_input * 1_000_000),
        cache_write: Money(cache_write * 1_000_000),
        cache_write_1h: Money(cache_write_1h * 1_000_000),
        output: Money(output * 1_000_000),
    }
}

#[test]
fn every_bucket_and_step_is_read() {
    let prices = parse_price(
        r#"
        [batch]
        input = "1.5"
        output = "7.5"
        cached_input = "0.15"
        cache_write = "1.875"
        cache_write_1h = "3"

        [realtime]
        input = "3"
        output = "15"

        [[steps]]
        above = 272_000
        batch = { input = "3", output = "11.25", cached_input = "0.3" }
        realtime = { input = "6", output = "22.5" }
        "#,
    );
    let step = |rates| {
        let above = 272_000;
        [Some(PriceStep { above, rates }), None]
    };
    let expected = Prices {
        batch: Price {
            base: millis([1500, 150, 1875, 3000, 7500]),
            // A bucket without a rate costs what input costs in the same step.
            steps: step(millis([3000, 300, 3000, 3000, 11_250])),
        },
        realtime: Some(Price {
            base: millis([3000, 3000, 3000, 3000, 15_000]),
            steps: step(millis([6000, 6000, 6000, 6000, 22_500])),
        }),
    };
    assert_eq!(prices, Ok(expected));
}

#[test]
fn two_rates_alone_are_a_flat_price() {
    let prices = parse_price(r#"batch = { input = "1", output = "2" }"#).unwrap();
    assert!(prices.batch.is_flat());
    assert_eq!(prices.realtime, None);
}

#[test]
fn the_cost_of_a_route_has_the_same_rates() {
    let cost = parse_cost(
        r#"
        input = "1"
        output = "4"
        cached_input = "0.1"
        steps = [{ above = 200_000, input = "2", output = "6" }]
        "#,
    );
    let expected = Price {
        base: millis([1000, 100, 1000, 1000, 4000]),
        steps: [
            Some(PriceStep {
                above: 200_000,
                rates: millis([2000, 2000, 2000, 2000, 6000]),
            }),
            None,
        ],
    };
    assert_eq!(cost, Ok(expected));
    insta::assert_snapshot!(parse_cost(r#"input = "x""#).unwrap_err(), @r"
    model `a`: cost.input `x` is not an amount from 0 to 10000.00 dollars with at most nine decimals
    model `a`: cost.output is missing: a chat model needs input and output
    ");
}

#[test]
fn every_wrong_step_has_its_line() {
    let text = r#"
        batch = { input = "1", output = "2", cache_write = "-1" }
        realtime = { input = "2", output = "4" }
        steps = [
            { above = 1000, batch = { input = "1", output = "2" } },
            { above = 1000, batch = { input = "1", output = "2" }, realtime = { input = "1" } },
            { above = 0, batch = { input = 3, output = "2" }, realtime = { input = "1", output = "2" } },
        ]
    "#;
    insta::assert_snapshot!(parse_price(text).unwrap_err(), @r#"
    model `a`: price.batch.cache_write `-1` is not an amount from 0 to 10000.00 dollars with at most nine decimals
    model `a`: price.steps has 3 steps; a price has at most 2
    model `a`: price.steps[1].above 1000 is not larger than that of the step before it
    model `a`: price.steps[2].above 0 is not a whole number from 1 to 1000000000
    model `a`: price.steps[2].batch.input must be dollars in quotes, such as "0.075", so that it is exact
    model `a`: price.steps[0].realtime is missing: a model with a realtime price needs it in each step
    model `a`: price.steps[1].realtime.output is missing: a chat model needs input and output
    "#);
    let text = r#"
        batch = { input = "1", output = "2" }
        steps = [
            { above = 9, batch = { input = "1", output = "2" }, realtime = { input = "1", output = "2" } },
        ]
    "#;
    insta::assert_snapshot!(parse_price(text).unwrap_err(), @"model `a`: price.steps has realtime rates, but price.realtime is missing");
}
