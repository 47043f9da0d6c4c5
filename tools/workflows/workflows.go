// Package workflows checks the workflows of GitHub Actions in .github/workflows, with
// actionlint. They run elsewhere, so nothing else here would notice a misspelled key.
package workflows

import (
	"fmt"
	"io"

	"github.com/rhysd/actionlint"
)

// lint returns the problems of a workflow. It runs no other program: shellcheck and
// pyflakes, which actionlint uses where they are installed, would make the result depend on
// the machine.
func lint(name string, text []byte) (wrong []string, err error) {
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		return nil, err
	}
	problems, err := linter.Lint(name, text, nil)
	if err != nil {
		return nil, err
	}
	for _, p := range problems {
		wrong = append(wrong, fmt.Sprintf("%s:%d: %s", name, p.Line, p.Message))
	}
	return wrong, nil
}
