package completion

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// awkward is a command line whose texts have the characters that end a text in
// the scripts.
type awkward struct {
	Run struct {
		Out   string `short:"o" placeholder:"DIR" help:"Don't [ever] use: a 'quote', \"two\", $HOME or \\backslash. More."`
		Level string `enum:"low,high" default:"low" help:"Level."`
		Loud  bool   `help:"It's loud: [yes]."`
	} `cmd:"" help:"Run: the program's 'only' command."`
}

// The shells that are installed accept the script; bash always is. No script
// runs anything of a text.
func TestAwkwardTexts(t *testing.T) {
	app := kong.Must(&awkward{}, kong.Name("prog")).Model
	for _, shell := range Shells {
		var b strings.Builder
		if err := Write(&b, shell, app, func(string, string) Values { return Values{} }); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := exec.LookPath(shell); err != nil && shell != "bash" {
			continue
		}
		if out, err := exec.Command(shell, "-n", file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s\n%s", shell, err, out, &b)
		}
		for _, want := range []string{"low high", "-out", "-loud"} {
			if !strings.Contains(b.String(), strings.TrimPrefix(want, map[string]string{"fish": "-"}[shell])) {
				t.Errorf("%s lacks %q:\n%s", shell, want, &b)
			}
		}
	}
	err := Write(&strings.Builder{}, "tcsh", app, func(string, string) Values { return Values{} })
	if err == nil || !strings.Contains(err.Error(), `unknown shell "tcsh" (want bash, zsh, fish)`) {
		t.Errorf("%v", err)
	}
}

// A flag offers what the caller knows, or else what its declaration shows.
func TestValuesOf(t *testing.T) {
	node := kong.Must(&awkward{}).Model.Children[0]
	c := commandOf(node, func(_, flag string) Values {
		if flag == "-level" {
			return Values{Words: []string{"other"}}
		}
		return Values{}
	})
	for _, f := range c.flags {
		switch f.name {
		case "out":
			if !f.values.Directories || f.short != "o" || !f.takesValue {
				t.Errorf("%+v", f)
			}
		case "level":
			if strings.Join(f.values.Words, " ") != "other" {
				t.Errorf("%+v", f)
			}
		case "loud":
			if f.takesValue {
				t.Errorf("%+v", f)
			}
		}
	}
	if c.help != "Run: the program's 'only' command" || len(c.flags) != 4 {
		t.Errorf("%+v", c)
	}
}
