use super::*;

#[test]
fn there_are_41_commands_each_once() {
    let mut names: Vec<&str> = table::COMMANDS.iter().map(|command| command.name).collect();
    assert_eq!(names.len(), 41);
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 41);
}

#[test]
fn the_help_names_every_command_once() {
    let help = help::text();
    for command in table::COMMANDS {
        assert!(command.help.starts_with(command.name), "{}", command.name);
        let start = format!("\n  {}", command.help.lines().next().unwrap());
        assert_eq!(help.matches(&start).count(), 1, "{}", command.name);
    }
}

#[test]
fn options_of_other_commands_are_refused() {
    let line = |args: &[&str]| Line::new(&args.iter().map(OsString::from).collect::<Vec<_>>());
    let get = table::COMMANDS
        .iter()
        .find(|command| command.name == "get")
        .unwrap();
    assert!(check(get, &line(&["--db=d", "get", "--ttl", "--bloom_bits=10"])).is_ok());
    assert_eq!(
        check(get, &line(&["--db=d", "get", "--bulk_load"])),
        Err("Invalid command-line flag bulk_load".to_owned())
    );
    assert_eq!(
        check(get, &line(&["--db=d", "get", "--from=a"])),
        Err("Invalid command-line option from".to_owned())
    );
    assert_eq!(
        check(get, &line(&["get"])),
        Err("Either db or path must be specified.".to_owned())
    );
}
