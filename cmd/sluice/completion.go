package main

import (
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/watch"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// completing is the command by which the scripts ask the program. No list of commands
// has it.
const completing = "__complete"

// Answers to a script that are not words: the shell completes names of files itself.
const (
	files       = ":files"
	directories = ":directories"
)

// scripts make a shell ask the program for what may complete the last word. The
// libraries that do so offer long flags with two dashes only.
var scripts = map[string]string{
	"bash": `# bash completion for sluice. To load it: source <(sluice completion bash)
_sluice() {
	local IFS=$'\n' word=${COMP_WORDS[COMP_CWORD]#=}
	COMPREPLY=($("$1" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
	case $COMPREPLY in
	:files) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
	:directories) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
	esac
}
complete -F _sluice sluice
`,
	"zsh": `#compdef sluice
# zsh completion for sluice. To load it: source <(sluice completion zsh)
# or save it as _sluice in a folder of fpath.
_sluice() {
	local -a found
	found=("${(@f)$("$words[1]" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	[[ $words[CURRENT] == -*=* ]] && compset -P '*='
	case $found[1] in
	:files) _files ;;
	:directories) _files -/ ;;
	?*) found=("${(@)found/$'\t'/:}"); _describe sluice found ;;
	esac
}
compdef _sluice sluice
if [[ $funcstack[1] == _sluice ]]; then
	_sluice "$@"
fi
`,
	"fish": `# fish completion for sluice. To load it: sluice completion fish | source
function __sluice_complete
	set -l words (commandline -opc) (commandline -ct)
	set -l found ($words[1] __complete $words[2..-1] 2>/dev/null)
	set -l flag (string match -r '^-[^=]*=' -- $words[-1])
	set -l word (string replace -r '^-[^=]*=' '' -- $words[-1])
	switch "$found[1]"
		case :files
			set found (__fish_complete_path $word)
		case :directories
			set found (__fish_complete_directories $word)
	end
	printf "$flag%s\n" $found
end
complete -c sluice -f -a '(__sluice_complete)'
`,
}

// Run prints the script.
func (c *completionCommand) Run(to streams) error {
	_, err := io.WriteString(to.stdout, scripts[c.Shell])
	return err
}

// complete answers a script: it writes what may complete the last of the words that
// follow the name of the program, a line for each candidate, with its help after a tab.
func complete(w io.Writer, words []string) error {
	end := len(words) - 1
	last := strings.TrimPrefix(words[end], "=") // bash makes a word of "="
	after := slices.DeleteFunc(slices.Clone(words[:end]), func(word string) bool { return word == "=" })
	if flag, value, ok := strings.Cut(last, "="); ok && strings.HasPrefix(last, "-") {
		after, last = append(after, flag), value
	}
	var b strings.Builder
	for _, candidate := range candidates(newParser(&commands{}, streams{}), after, strings.HasPrefix(last, "-")) {
		if strings.HasPrefix(candidate, last) || strings.HasPrefix(candidate, ":") {
			b.WriteString(candidate + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// candidates returns what may follow words: the value of a flag, or flags, or arguments.
func candidates(parser *kong.Kong, after []string, flag bool) (found []string) {
	offer := func(word, help string) {
		first, _, _ := strings.Cut(help, ". ")
		found = append(found, word+"\t"+strings.TrimSuffix(first, "."))
	}
	if len(after) == 0 {
		for _, node := range parser.Model.Children {
			offer(node.Name, node.Help)
		}
		return found
	}
	command := named(parser, after[0])
	if command == nil {
		return nil
	}
	known, previous := completable(parser), after[len(after)-1]
	for _, group := range command.AllFlags(true) {
		for _, f := range group {
			if spelled := strings.TrimLeft(previous, "-"); spelled != previous && !f.IsBool() && (spelled == f.Name || spelled == string(f.Short)) {
				return append(known[command.Name+" -"+f.Name], declared(f.Value, f.PlaceHolder)...)
			}
			offer("-"+f.Name, f.Help)
		}
	}
	if flag {
		slices.Sort(found)
		return found
	}
	for _, argument := range command.Positional {
		known[command.Name] = append(known[command.Name], declared(argument, "")...)
	}
	return known[command.Name]
}

// declared returns the values that a declaration shows.
func declared(value *kong.Value, placeholder string) []string {
	switch {
	case value.Enum != "":
		return words(value.Enum)
	case placeholder == "FILE":
		return []string{files}
	case placeholder == "DIR":
		return []string{directories}
	}
	return nil
}

// completable returns the values of arguments ("lab") and flags ("watch -kind")
// that the declarations do not show.
func completable(parser *kong.Kong) map[string][]string {
	return map[string][]string{
		"lab":          append(lab.Names(), list),
		"compare":      {files},
		"predict":      {files},
		"report":       {directories},
		"doctor":       {files},
		"watch -kind":  watch.Kinds(),
		"watch -sort":  watch.Sortings(),
		"watch -order": {"asc", "desc"},
		"help":         commandNames(parser),
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
