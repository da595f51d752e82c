//! The category of a server, such as `database`. Servers do not declare one, so it is guessed from the
//! names of their tools; the configuration can set it (`category = "…"`).

use std::collections::HashMap;

use narrows_search::words;
use narrows_upstream::catalog::ServerTools;

/// The categories, each with words that indicate it. A word counts once for each tool that has it in
/// its name, and five times if it is in the server's name.
pub const CATEGORIES: [(&str, &str); 18] = [
    ("ai", "model models prompt llm dataset embedding embeddings inference huggingface rag"),
    (
        "browser",
        "browser navigate click page tab tabs screenshot playwright puppeteer hover chrome",
    ),
    (
        "cloud",
        "aws azure gcp cluster kubernetes k8s pod pods helm deployment deploy lambda \
         container docker terraform stack worker workers vm namespace eks ecs cloudflare",
    ),
    (
        "code",
        "git github gitlab repository repo commit branch merge pull code diff build pipeline \
         lint symbol workflow package",
    ),
    (
        "communication",
        "message messages email emails mail channel chat slack sms discord telegram reply \
         inbox whatsapp teams",
    ),
    (
        "database",
        "sql table tables database databases schema collection redis mongo mongodb postgres \
         query column neo4j index indexes dynamodb clickhouse hash hset zadd bigquery \
         supabase",
    ),
    (
        "design",
        "figma chart diagram image color component components video audio svg canvas icon \
         animation storybook",
    ),
    (
        "documents",
        "document documents doc notion note notes pdf sheet sheets spreadsheet slide slides \
         cell worksheet workbook excel word paragraph block markdown wiki confluence",
    ),
    ("files", "file files directory folder folders drive path upload download"),
    (
        "finance",
        "payment invoice price stock market balance subscription crypto refund stripe order \
         orders wallet coin token billing account",
    ),
    (
        "knowledge",
        "memory entity entities graph relations observations paper papers docs documentation \
         library thinking arxiv knowledge",
    ),
    (
        "maps",
        "map maps location place places route directions weather forecast geocode distance \
         airbnb",
    ),
    (
        "monitoring",
        "metric metrics log logs alert alerts trace traces dashboard incident error errors \
         monitor grafana datadog sentry prometheus alarm",
    ),
    (
        "projects",
        "issue issues ticket project projects task tasks sprint board milestone jira linear \
         epic todo todoist",
    ),
    (
        "sales",
        "contact contacts deal deals lead leads customer customers company companies campaign \
         crm hubspot salesforce product products",
    ),
    ("search", "search web news crawl scrape extract url fetch results website"),
    (
        "security",
        "security vulnerability vulnerabilities vuln vulns cve scan scanner scans exploit threat threats \
         malware secret secrets pentest nmap siem firewall virus phishing sast dast compliance hardening",
    ),
    ("time", "time timezone calendar calendars event events schedule date meeting"),
];

/// Returns the category whose words the names of a server and its tools use most, if they use any.
pub fn category_of(server: &ServerTools) -> Option<&'static str> {
    let mut counts: HashMap<String, f64> = HashMap::new();
    for word in words(&server.server) {
        *counts.entry(word).or_default() += 5.0;
    }
    for tool in &server.tools {
        for word in words(&tool.id.tool) {
            *counts.entry(word).or_default() += 1.0;
        }
    }
    let score = |words: &str| -> f64 {
        words.split(' ').filter_map(|word| counts.get(word)).map(|count| count.sqrt()).sum()
    };
    let scored = CATEGORIES.iter().map(|(category, words)| (score(words), *category));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(a.1)))?;
    (best.0 > 0.0).then_some(best.1)
}
