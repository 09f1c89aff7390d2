//! All projects of an organization share one bucket.

use domain::organization::Plan;
use test_support::redis::RedisServer;

use crate::rate_limits::ServeNodes;
use crate::support::test_limits::TestLimits;

#[tokio::test]
async fn all_projects_of_an_organization_share_one_bucket() {
    let redis = RedisServer::new();
    let nodes = ServeNodes::new(TestLimits::with_redis(redis.url())).await;
    let service = &nodes.service;
    let first = service.create_customer_with_plan(Plan::Free).await;
    let second = service.create_sibling_project(&first).await;
    assert_eq!(nodes.load_and_count(&first, 60).await, 60);
    assert_eq!(nodes.load_and_count(&second, 60).await, 40);
    assert_eq!(nodes.load_and_count(&first, 10).await, 0);
    // One token is refilled in two seconds. The first load takes it, of whichever project.
    nodes.advance_clock(2);
    assert_eq!(nodes.load_and_count(&second, 5).await, 1);
    assert_eq!(nodes.load_and_count(&first, 5).await, 0);
    // Another organization has its own bucket.
    let other = service.create_customer_with_plan(Plan::Free).await;
    assert_eq!(nodes.load_and_count(&other, 150).await, 100);
    assert_eq!(nodes.fallbacks(), 0);
}
