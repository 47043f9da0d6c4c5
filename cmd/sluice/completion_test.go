package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// completing the words that follow the script, the last of which may be unfinished:
// a shell prints what it offers. The functions of zsh and of bash that only work at a
// prompt are replaced.
var completionScripts = map[string]string{
	"bash": `source ./script; compopt() { :; }; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sluice sluice; printf '%s\n' "${COMPREPLY[@]}"`,
	"fish": `source ./script; complete -C "$argv" | cut -f1`,
	"zsh": `compdef() { :; }; compset() { :; }; _describe() { print -l -- "${(@)found%%:*}" }; _files() { print -l -- "results/" }
		source ./script; words=("$@"); CURRENT=$#; _sluice`,
}

// The shells that are installed ask the program; bash always is.
func TestCompletion(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Mkdir("results", 0o700); err != nil {
		t.Fatal(err)
	}
	program, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, "sluice"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, shell := range []string{"bash", "zsh", "fish"} {
		status, script, stderr := sluice(t, 0, "completion", shell)
		if status != 0 {
			t.Fatalf("%s: status %d\n%s", shell, status, stderr)
		}
		if _, err := exec.LookPath(shell); err != nil && shell != "bash" {
			continue
		}
		if err := os.WriteFile("script", []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct{ words, want, not string }{
			{"sluice la", "lab", "compare"},
			{"sluice lab -qui", "-quick", "-resume"},
			{"sluice lab ela", "elastic", "lock-cost"},
			{"sluice lab -out res", "results/", "elastic"},
			{"sluice watch -sort oldests", "oldestsender", "oldestvalue"},
			{"sluice predict -v -consumers ", "matched", "-json"},
			{"sluice completion z", "zsh", "bash"},
		} {
			words := strings.Split(test.words, " ")
			args := append([]string{"-c", completionScripts[shell], shell}, words...)
			if shell == "fish" { // it has no $0
				args = append(args[:2], test.words)
			}
			command := exec.Command(shell, args...)
			command.Env = append(os.Environ(), asProgram+"=1")
			out, err := command.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v\n%s", shell, err, out)
			}
			got := strings.Fields(strings.ReplaceAll(string(out), "results\n", "results/\n"))
			if !slices.Contains(got, test.want) || slices.Contains(got, test.not) {
				t.Errorf("%s: %q: got %q, want %q and not %q", shell, test.words, got, test.want, test.not)
			}
		}
	}
}

// A value after "=" is completed, however the shell splits words there.
func TestCompletionOfAValue(t *testing.T) {
	for _, words := range []string{"watch -sort=oldests", "watch -sort = oldests", "watch --sort oldests"} {
		if status, stdout, _ := sluice(t, 0, append([]string{completing}, strings.Fields(words)...)...); status != 0 || stdout != "oldestsender\n" {
			t.Errorf("%s: status %d, %q", words, status, stdout)
		}
	}
	if _, stdout, _ := sluice(t, 0, completing, "watch", "-order", "="); stdout != "asc\ndesc\n" {
		t.Errorf("no value so far: %q", stdout)
	}
	if status, stdout, stderr := sluice(t, 0, completing, "nothing", ""); status != 0 || stdout+stderr != "" {
		t.Errorf("no command: status %d, %q, %q", status, stdout, stderr)
	}
}

// Every value that is offered belongs to an argument or a flag that exists.
func TestCompletable(t *testing.T) {
	parser := newParser(&commands{}, streams{})
	for key := range completable(parser) {
		name, flag, _ := strings.Cut(key, " -")
		command := named(parser, name)
		found := command != nil && flag == "" && len(command.Positional) > 0
		for _, f := range command.Flags {
			found = found || f.Name == flag
		}
		if !found {
			t.Errorf("%q is completed, and does not exist", key)
		}
	}
}
