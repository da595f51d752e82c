//! Common given names: under a bare `name` they tell a person from a product.

/// Tells whether this is one of the common given names of many countries.
pub(super) fn is_given_name(word: &str) -> bool {
    GIVEN_NAMES
        .binary_search_by(|name| name.bytes().cmp(word.bytes().map(|b| b.to_ascii_lowercase())))
        .is_ok()
}

/// In order, for a binary search.
#[rustfmt::skip]
const GIVEN_NAMES: &[&str] = &[
    "aaron", "abdul", "abdullah", "abigail", "ada", "adam", "adrian", "agnes", "ahmed", "aisha", "alan", "albert", "alejandro", "alex", "alexander",
    "alexandra", "alfred", "ali", "alice", "alicia", "alison", "amanda", "amber", "amelia", "amir", "amy", "ana", "anastasia", "andrea", "andreas",
    "andrew", "andrzej", "angela", "anita", "ann", "anna", "anne", "annette", "anthony", "antonio", "arjun", "arthur", "ashley", "astrid", "barbara",
    "beatrice", "ben", "benjamin", "bernard", "beth", "betty", "bill", "birgit", "bjorn", "bob", "boris", "brandon", "brenda", "brian", "bruce",
    "bryan", "camille", "carl", "carla", "carlos", "carmen", "carol", "caroline", "carolyn", "catherine", "cecilia", "charles", "charlotte", "chen",
    "cheryl", "chiara", "chloe", "chris", "christian", "christina", "christine", "christopher", "claire", "clara", "claudia", "colin", "connor",
    "craig", "cristina", "cynthia", "dan", "daniel", "daniela", "danielle", "david", "deborah", "debra", "denis", "dennis", "diana", "diane",
    "diego", "dmitri", "dmitry", "dominic", "donald", "donna", "dorothy", "douglas", "dylan", "eduardo", "edward", "eileen", "elaine", "eleanor",
    "elena", "elias", "elisabeth", "elizabeth", "ella", "ellen", "emil", "emily", "emma", "eric", "erica", "erik", "erika", "ernest", "esther",
    "ethan", "eva", "evan", "evelyn", "fatima", "felix", "fernando", "fiona", "florian", "frances", "francesca", "francesco", "francis", "francisco",
    "franck", "frank", "fred", "frederick", "gabriel", "gabriela", "gareth", "gary", "george", "gerald", "gerard", "giovanni", "giulia", "gloria",
    "grace", "graham", "greg", "gregory", "guillaume", "gustav", "hannah", "hans", "harold", "harry", "hassan", "heather", "hector", "heidi",
    "helen", "helena", "henri", "henrik", "henry", "hiroshi", "howard", "hugo", "ian", "ibrahim", "ines", "ingrid", "irene", "isaac", "isabel",
    "isabella", "ivan", "jack", "jacob", "jacqueline", "jacques", "james", "jamie", "jan", "jane", "janet", "janice", "jasmine", "jason", "javier",
    "jean", "jeff", "jeffrey", "jennifer", "jeremy", "jerry", "jesse", "jessica", "jill", "jim", "joan", "joanna", "joe", "joel", "johan", "johann",
    "johanna", "john", "johnny", "jon", "jonathan", "jorge", "jose", "josef", "joseph", "joshua", "joyce", "juan", "judith", "judy", "julia",
    "julian", "julie", "julien", "jurgen", "justin", "kai", "karen", "karin", "karl", "kate", "katherine", "kathleen", "kathryn", "katie", "keith",
    "kelly", "ken", "kenji", "kenneth", "kevin", "khalid", "kim", "kimberly", "klaus", "kristen", "kristin", "kumar", "kurt", "kyle", "lars",
    "laura", "lauren", "laurent", "lawrence", "lea", "leah", "lee", "lena", "leo", "leon", "leonardo", "leslie", "li", "liam", "lidia", "linda",
    "lisa", "logan", "lorenzo", "louis", "louise", "lucas", "lucia", "lucy", "luis", "luisa", "luke", "maciej", "madison", "magnus", "manuel",
    "marc", "marco", "marcus", "margaret", "maria", "marie", "marina", "mario", "mark", "markus", "marta", "martha", "martin", "martina", "mary",
    "mateo", "mathieu", "matteo", "matthew", "maurice", "max", "megan", "mei", "melanie", "melissa", "mia", "michael", "michel", "michele",
    "michelle", "miguel", "mike", "mohamed", "mohammad", "mohammed", "molly", "monica", "monika", "muhammad", "nancy", "natalia", "natalie",
    "natasha", "nathan", "neil", "nicholas", "nicolas", "nicole", "nikolai", "nina", "noah", "nora", "norma", "oleg", "olga", "oliver", "olivia",
    "omar", "oscar", "otto", "pablo", "pamela", "paola", "patricia", "patrick", "paul", "paula", "pavel", "pedro", "penelope", "peter", "petra",
    "philip", "philippe", "phillip", "pierre", "piotr", "priya", "rachel", "rafael", "rahul", "raj", "ralph", "ramon", "raymond", "rebecca",
    "renata", "ricardo", "richard", "rita", "robert", "roberto", "robin", "rodrigo", "roger", "roland", "roman", "ronald", "rosa", "rose", "ross",
    "roy", "russell", "ruth", "ryan", "sabine", "sally", "sam", "samantha", "samir", "samuel", "sandra", "sanjay", "sara", "sarah", "scott", "sean",
    "sebastian", "sergei", "sergio", "sharon", "shirley", "silvia", "simon", "sofia", "sonia", "sophia", "sophie", "stefan", "stefano", "stella",
    "stephanie", "stephen", "steve", "steven", "stuart", "sunil", "susan", "susanne", "suzanne", "sven", "sylvia", "tamara", "tanya", "tatiana",
    "ted", "teresa", "terry", "theodore", "theresa", "thomas", "tim", "timothy", "tina", "todd", "tom", "tomas", "tony", "tracy", "ulrich", "ursula",
    "valentina", "vanessa", "vera", "veronica", "victor", "victoria", "vincent", "virginia", "vladimir", "walter", "wei", "wendy", "werner",
    "william", "wolfgang", "xavier", "yan", "yasmin", "yusuf", "yves", "yvonne", "zachary", "zoe",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_in_order() {
        assert!(GIVEN_NAMES.is_sorted());
        assert!(is_given_name("Ada"));
        assert!(!is_given_name("Widget"));
    }
}
