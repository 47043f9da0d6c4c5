package main

import (
	"strings"

	"github.com/alecthomas/kong"

	"github.com/sluice-go/sluice/cmd/sluice/internal/completion"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/watch"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run prints the script.
func (c *completionCommand) Run(parser *kong.Kong, to streams) error {
	values := completable(parser)
	return completion.Write(to.stdout, c.Shell, parser.Model, func(command, flag string) completion.Values {
		return values[strings.TrimSpace(command+" "+flag)]
	})
}

// completable returns the values of arguments ("lab") and flags ("watch -kind")
// that the declarations do not show.
func completable(parser *kong.Kong) map[string]completion.Values {
	return map[string]completion.Values{
		"lab":          {Words: append(lab.Names(), "list")},
		"compare":      {Files: true},
		"predict":      {Files: true},
		"report":       {Directories: true},
		"doctor":       {Files: true},
		"watch -kind":  {Words: watch.Kinds()},
		"watch -sort":  {Words: watch.Sortings()},
		"watch -order": {Words: []string{"asc", "desc"}},
		"help":         {Words: commandNames(parser)},
		"completion":   {Words: completion.Shells},
	}
}

// Help is shown below the flags.
func (completionCommand) Help() string {
	return strings.TrimSpace(`
Examples:
  sluice completion bash > ~/.local/share/bash-completion/completions/sluice
  sluice completion zsh > ~/.zfunc/_sluice  a folder of fpath, before compinit
  sluice completion fish > ~/.config/fish/completions/sluice.fish

The script completes commands, flags, experiments and file names. To try it in
the current shell: source <(sluice completion bash).
`)
}
