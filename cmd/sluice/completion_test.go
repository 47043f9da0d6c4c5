package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// completionScripts makes each shell complete the words that follow the script.
// The last word is the one to complete.
var completionScripts = map[string]string{
	"bash": `source ./script; compopt() { :; }; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sluice; printf '%s\n' "${COMPREPLY[@]}"`,
	"fish": `source ./script; complete -C "$argv" | cut -f1`,
	// The functions of zsh only work in its line editor: these show what they get.
	"zsh": `compdef() { :; }; _describe() { print -l -- "${commands[@]%%:*}" }; _arguments() { print -l -- "$@" }
		source ./script; words=("$@"); CURRENT=$#; _sluice`,
}

// complete returns what a shell offers for the last of words.
func completeIn(t *testing.T, shell string, words ...string) []string {
	t.Helper()
	args := []string{"-c", completionScripts[shell]}
	if shell != "fish" { // for the others, the first argument is $0
		args = append(args, shell)
	}
	if shell == "fish" {
		args = append(args, strings.Join(words, " "))
	} else {
		args = append(args, words...)
	}
	out, err := exec.Command(shell, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", shell, err, out)
	}
	return strings.Fields(string(out))
}

// The scripts are run by the shells that are installed; bash always is.
func TestCompletion(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("results", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		status, script, stderr := sluice(t, 0, "completion", shell)
		if status != 0 || strings.Contains(script, "--quick ") {
			t.Fatalf("%s: status %d, or flags with two dashes are offered\n%s%s", shell, status, script, stderr)
		}
		if _, err := exec.LookPath(shell); err != nil && shell != "bash" {
			continue
		}
		if err := os.WriteFile("script", []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(shell, "-n", "script").CombinedOutput(); err != nil {
			t.Errorf("%s -n: %v\n%s", shell, err, out)
		}
		for _, test := range []struct {
			words []string
			want  string // zsh is asked for this flag or word in its specification
			not   string
		}{
			{[]string{"sluice", "la"}, "lab", "-quick"},
			{[]string{"sluice", "lab", "-qui"}, "-quick", "-sort"},
			{[]string{"sluice", "lab", "ela"}, "elastic", "bounded"},
			{[]string{"sluice", "lab", "-out", "res"}, "results/", "elastic"},
			{[]string{"sluice", "watch", "-sort", "oldests"}, "oldestsender", "oldestvalue"},
			{[]string{"sluice", "predict", "-consumers", ""}, "matched", "lab"},
		} {
			got := completeIn(t, shell, test.words...)
			if shell == "zsh" {
				if len(test.words) > 2 && !strings.Contains(strings.Join(got, " "), strings.TrimSuffix(test.want, "results/")) {
					t.Errorf("zsh: %q: got %q, want %q", test.words, got, test.want)
				}
				continue
			}
			found := slices.Contains(got, test.want) || slices.Contains(got, strings.TrimSuffix(test.want, "/"))
			if !found || slices.Contains(got, test.not) {
				t.Errorf("%s: %q: got %q, want %q and not %q", shell, test.words, got, test.want, test.not)
			}
		}
	}
}

// Every value that is offered belongs to an argument or a flag that exists.
func TestCompletable(t *testing.T) {
	parser := newParser(&commands{}, streams{})
	for key := range completable(parser) {
		command, flag, _ := strings.Cut(key, " -")
		found := false
		for _, node := range parser.Model.Children {
			if node.Name != command {
				continue
			}
			found = flag == "" && len(node.Positional) > 0
			for _, f := range node.Flags {
				found = found || f.Name == flag
			}
		}
		if !found {
			t.Errorf("%q is completed, and does not exist", key)
		}
	}
}
