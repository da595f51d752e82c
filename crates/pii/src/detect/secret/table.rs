//! The keys of well-known services: how each begins, and how many characters follow.

/// The characters that a key is made of, after its beginning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Body {
    Hex,
    Letters,
    Capitals,
    Alphanumeric,
    /// Letters, digits, `_` and `-`.
    Word,
    /// Letters, digits, `_`, `-`, `.`, `=`, `+`, `/` and `~`.
    Any,
}

impl Body {
    pub(crate) fn holds(self, byte: u8) -> bool {
        match self {
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Letters => byte.is_ascii_alphabetic(),
            Self::Capitals => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || b"_-".contains(&byte),
            Self::Any => byte.is_ascii_alphanumeric() || b"_-.=+/~".contains(&byte),
        }
    }
}

/// A kind of key.
#[derive(Debug)]
pub(crate) struct Secret {
    pub(crate) prefix: &'static str,
    pub(crate) body: Body,
    /// The fewest characters after the beginning.
    pub(crate) min: usize,
}

const fn key(prefix: &'static str, body: Body, min: usize) -> Secret {
    Secret { prefix, body, min }
}

use Body::{Alphanumeric, Any, Capitals, Hex, Letters, Word};

/// In the order of the services' names.
#[rustfmt::skip]
pub(crate) const SECRETS: &[Secret] = &[
    key("ops_eyJ", Any, 80),                 // 1Password service account
    key("A3-", Word, 24),                    // 1Password secret key
    key("p8e-", Alphanumeric, 32),           // Adobe
    key("AGE-SECRET-KEY-1", Capitals, 58),   // age
    key("LTAI", Alphanumeric, 12),           // Alibaba
    key("sk-ant-", Word, 20),                // Anthropic
    key("AKCp", Alphanumeric, 64),           // Artifactory
    key("cmVmd", Alphanumeric, 59),
    key("ATATT3", Any, 60),                  // Atlassian
    key("ATBB", Alphanumeric, 24),
    key("ATCTT3", Any, 60),
    key("AKIA", Capitals, 16),               // AWS
    key("ASIA", Capitals, 16),
    key("ABIA", Capitals, 16),
    key("ACCA", Capitals, 16),
    key("ABSK", Any, 100),
    key("bedrock-api-key-", Any, 20),
    key("4b1d", Alphanumeric, 38),           // ClickHouse
    key("CLOJARS_", Alphanumeric, 60),
    key("v1.0-", Word, 150),                 // Cloudflare origin
    key("dapi", Hex, 32),                    // Databricks
    key("dnkey-", Word, 60),
    key("doo_v1_", Hex, 64),                 // DigitalOcean
    key("dop_v1_", Hex, 64),
    key("dor_v1_", Hex, 64),
    key("dp.pt.", Alphanumeric, 40),         // Doppler
    key("dp.st.", Any, 40),
    key("duffel_test_", Any, 40),
    key("duffel_live_", Any, 40),
    key("dt0c01.", Any, 80),                 // Dynatrace
    key("EZAK", Alphanumeric, 54),           // EasyPost
    key("EZTK", Alphanumeric, 54),
    key("EAAC", Alphanumeric, 80),           // Facebook
    key("EAAM", Alphanumeric, 80),
    key("EAAG", Alphanumeric, 80),
    key("EAAAE", Word, 50),                  // Square
    key("sq0atp-", Word, 20),
    key("sq0csp-", Word, 20),
    key("fio-u-", Any, 60),
    key("FLWSECK_TEST-", Word, 12),
    key("FLWSECK-", Word, 12),
    key("FLWPUBK_TEST-", Word, 12),
    key("fo1_", Word, 40),                   // Fly.io
    key("fm1r_", Any, 80),
    key("fm1a_", Any, 80),
    key("fm2_", Any, 80),
    key("AIza", Word, 35),                   // Google
    key("ya29.", Word, 20),
    key("GOCSPX-", Word, 20),
    key("ghp_", Alphanumeric, 30),           // GitHub
    key("gho_", Alphanumeric, 30),
    key("ghu_", Alphanumeric, 30),
    key("ghs_", Alphanumeric, 30),
    key("ghr_", Alphanumeric, 30),
    key("github_pat_", Word, 40),
    key("glpat-", Any, 20),                  // GitLab
    key("glcbt-", Word, 20),
    key("gldt-", Word, 20),
    key("glffct-", Word, 20),
    key("glft-", Word, 20),
    key("glimt-", Word, 20),
    key("glagent-", Word, 40),
    key("gloas-", Word, 40),
    key("glptt-", Hex, 40),
    key("glrt-", Any, 20),
    key("glsoat-", Word, 20),
    key("GR1348941", Word, 20),
    key("_gitlab_session=", Alphanumeric, 32),
    key("glc_", Any, 32),                    // Grafana
    key("glsa_", Word, 32),
    key("gsk_", Alphanumeric, 40),           // Groq
    key("pat.", Any, 60),                    // Harness
    key("sat.", Any, 60),
    key("HRKU-AA", Word, 50),                // Heroku
    key("hf_", Letters, 30),                 // Hugging Face
    key("api_org_", Letters, 30),
    key("ico-", Alphanumeric, 32),           // Infracost
    key("lin_api_", Alphanumeric, 32),       // Linear
    key("lin_oauth_", Alphanumeric, 32),
    key("pubkey-", Hex, 32),                 // Mailgun
    key("key-", Hex, 32),
    key("NRAK-", Alphanumeric, 20),          // New Relic
    key("NRJS-", Hex, 19),
    key("NRII-", Word, 30),
    key("ntn_", Alphanumeric, 40),           // Notion
    key("secret_", Alphanumeric, 43),
    key("npm_", Alphanumeric, 36),
    key("API-", Capitals, 26),               // Octopus
    key("sk-proj-", Word, 20),               // OpenAI
    key("sk-svcacct-", Word, 20),
    key("sk-admin-", Word, 20),
    key("sk-or-", Word, 40),                 // OpenRouter
    key("sk-", Alphanumeric, 32),
    key("sha256~", Word, 40),                // OpenShift
    key("pplx-", Alphanumeric, 40),
    key("access-sandbox-", Word, 36),        // Plaid
    key("access-production-", Word, 36),
    key("access-development-", Word, 36),
    key("pscale_tkn_", Any, 32),
    key("pscale_oauth_", Any, 32),
    key("pscale_pw_", Any, 32),
    key("PMAK-", Word, 50),                  // Postman
    key("pnu_", Alphanumeric, 36),
    key("pul-", Hex, 40),
    key("pypi-AgEIcHlwaS5vcmc", Word, 50),
    key("pypi-AgENdGVzdC5weXBpLm9yZ", Word, 50),
    key("rdme_", Alphanumeric, 60),
    key("r8_", Alphanumeric, 37),            // Replicate
    key("rubygems_", Hex, 48),
    key("tk-us-", Word, 48),
    key("SG.", Any, 60),                     // SendGrid
    key("xkeysib-", Word, 64),
    key("xsmtpsib-", Word, 64),
    key("sntrys_", Any, 60),                 // Sentry
    key("sntryu_", Hex, 60),
    key("sm_aat_", Alphanumeric, 16),
    key("sm_pat_", Alphanumeric, 16),
    key("sm_sat_", Alphanumeric, 16),
    key("shippo_live_", Hex, 40),
    key("shippo_test_", Hex, 40),
    key("shpat_", Hex, 32),                  // Shopify
    key("shpca_", Hex, 32),
    key("shppa_", Hex, 32),
    key("shpss_", Hex, 32),
    key("xapp-", Word, 20),                  // Slack
    key("xoxa-", Word, 10),
    key("xoxb-", Word, 20),
    key("xoxc-", Word, 20),
    key("xoxd-", Any, 20),
    key("xoxe-", Word, 20),
    key("xoxe.", Any, 20),
    key("xoxo-", Word, 20),
    key("xoxp-", Word, 20),
    key("xoxr-", Word, 10),
    key("xoxs-", Word, 20),
    key("hooks.slack.com/services/", Any, 40),
    key("hooks.slack.com/workflows/", Any, 40),
    key("hooks.slack.com/triggers/", Any, 40),
    key("discord.com/api/webhooks/", Any, 60),
    key("webhook.office.com/webhookb2/", Any, 36),
    key("squ_", Hex, 40),                    // SonarQube
    key("sqp_", Hex, 40),
    key("sqa_", Hex, 40),
    key("sgp_", Word, 40),                   // Sourcegraph
    key("sk_live_", Alphanumeric, 10),       // Stripe
    key("sk_test_", Alphanumeric, 10),
    key("sk_prod_", Alphanumeric, 10),
    key("rk_live_", Alphanumeric, 10),
    key("rk_test_", Alphanumeric, 10),
    key("rk_prod_", Alphanumeric, 10),
    key("whsec_", Any, 24),
    key("sbp_", Hex, 40),                    // Supabase
    key("sb_secret_", Word, 20),
    key("tskey-", Word, 20),                 // Tailscale
    key("SK", Hex, 32),                      // Twilio
    key("tfp_", Any, 50),                    // Typeform
    key("hvs.", Word, 24),                   // Vault
    key("hvb.", Word, 100),
    key("hvr.", Word, 24),
    key("xai-", Alphanumeric, 60),
    key("AQVN", Word, 35),                   // Yandex
    key("t1.", Any, 90),
    key("eyJrIjoi", Any, 60),                // Grafana, older
];
