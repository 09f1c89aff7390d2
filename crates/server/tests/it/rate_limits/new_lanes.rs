//! The first loads of a lane come together.

use domain::organization::Plan;

use crate::rate_limits::ServeNodes;
use crate::support::test_limits::TestLimits;

#[tokio::test]
async fn a_burst_on_a_new_lane_creates_it_once_on_each_node() {
    let nodes = ServeNodes::new(TestLimits::default()).await;
    let customer = nodes.service.create_customer_with_plan(Plan::Pro).await;
    assert_eq!(nodes.load_and_count(&customer, 200).await, 200);
    // Each attempt to create a lane takes a number, also if the lane exists.
    let numbers = "select case when is_called then last_value else 0 end from shard.lane_id_seq";
    let mut taken = 0;
    for shard in nodes.service.shards() {
        let read = sqlx::query_scalar(numbers).fetch_one(&shard.pool);
        let of_shard: i64 = read.await.unwrap();
        taken += of_shard;
    }
    assert_eq!(taken, 2);
}
