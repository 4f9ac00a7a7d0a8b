//! Faults that hostile reviews of the running service found, one module per row of `docs/security/review.md`.

mod anonymous_costs;
mod policies_and_doors;
mod row_01_ending;
mod row_02_job_lanes;
mod row_03_session_reads;
mod row_04_reserved_names;
mod row_05_reuse_detection;
mod row_06_raised_min_level;
mod row_07_default_acr_values;
mod row_08_replaced_credentials;
mod row_09_mailbox_and_second_factor;
mod row_10_verification_cost;
mod row_11_anonymous_rows;
mod row_13_errors_after_rotation;
mod row_14_private_clients;
mod row_15_sms_budget;
mod row_17_log_truncation;
mod row_18_enrolment;
mod row_19_narrowing;
mod row_20_small_faults;
mod row_21_pushed_requests;
mod row_22_details_cost;
mod row_23_linkability;
mod row_24_narrowed_policy;
mod row_25_invitation_limits;
mod row_26_account_lock;
mod row_27_hashing_share;
mod row_28_empty_parameters;
mod row_29_write_budget;
mod row_30_nul;
mod row_31_null_members;
mod third_impersonation;
mod third_keys;

/// Leaves nothing in the buckets that this is true of.
async fn empty(app: &porteiro_testkit::TestApp, condition: &str) {
    app.sql(&format!("UPDATE limit_bucket SET full_at = now() + interval '1 day' WHERE {condition}")).await;
}
