package main

import (
	"context"
	"fmt"
	"time"
)

// prepare commits the release in the clone, and tags it. The go.sum of a module has the
// hashes of those that it requires, so these are downloaded first: each module from a
// commit of its own. Then one commit replaces all of them. That does not change a
// hash: the files of a module do not include the modules below its folder.
func (w *workshop) prepare(ctx context.Context, needNotes bool) error {
	if err := w.describe(needNotes); err != nil {
		return err
	}
	if err := w.replaceInWork(); err != nil {
		return err
	}
	for _, m := range w.modules {
		if err := w.prepareModule(ctx, m); err != nil {
			return err
		}
	}
	if _, err := w.clone.git(ctx, "reset", "--quiet", "--soft", w.base); err != nil {
		return err
	}
	if err := w.commit(ctx, "release "+w.version); err != nil {
		return err
	}
	for _, m := range w.modules {
		if _, err := w.clone.git(ctx, "tag", "--force", "--annotate", "--message", m.at(w.version), m.tag(w.version)); err != nil {
			return err
		}
	}
	return nil
}

// prepareModule edits a module that requires only earlier ones, and downloads it from a
// tag.
func (w *workshop) prepareModule(ctx context.Context, m module) error {
	if err := w.edit(m, false); err != nil {
		return err
	}
	if _, err := w.goCommand(ctx, w.folder(m), w.proxies(), "mod", "tidy"); err != nil {
		return err
	}
	if err := w.commit(ctx, "one module"); err != nil {
		return err
	}
	if _, err := w.clone.git(ctx, "tag", "--force", "--no-sign", m.tag(w.version)); err != nil {
		return err
	}
	return w.downloadFromTags(ctx, []module{m}, w.version)
}

// describe dates the changelog, and the documents say how to install what is published.
func (w *workshop) describe(needNotes bool) error {
	date := func(text []byte) ([]byte, error) { return dated(text, w.version, time.Now(), needNotes) }
	if err := w.clone.change("CHANGELOG.md", date); err != nil {
		return err
	}
	if err := w.clone.change("README.md", func(text []byte) ([]byte, error) { return installable(text, w.root) }); err != nil {
		return err
	}
	return w.clone.change("docs/releases.md", published)
}

func (w *workshop) commit(ctx context.Context, message string) error {
	if _, err := w.clone.git(ctx, "add", "--all"); err != nil {
		return err
	}
	_, err := w.clone.git(ctx, "commit", "--quiet", "--allow-empty", "--message", message)
	return err
}

// resume commits what development needs again: each go.mod as before, with the released
// versions, and a place in the changelog. The versions matter to programs that require
// a commit of the main branch.
func (w *workshop) resume(ctx context.Context) error {
	if _, err := w.clone.git(ctx, "read-tree", "--reset", "-u", w.base); err != nil {
		return err
	}
	if _, err := w.clone.git(ctx, "checkout", w.version, "--", "CHANGELOG.md", "README.md", "docs/releases.md"); err != nil {
		return err
	}
	for _, m := range w.modules {
		if err := w.edit(m, true); err != nil {
			return err
		}
	}
	if err := w.clone.change("CHANGELOG.md", reopened); err != nil {
		return err
	}
	if err := w.commit(ctx, "after "+w.version+": replace and unreleased changes"); err != nil {
		return err
	}
	return w.tidy(ctx)
}

// workspace returns an error unless all packages and tests can be built in a working tree
// of the release, before it is published. It must come before the module cache has one
// of its modules.
func (w *workshop) workspace(ctx context.Context) error {
	_, err := w.goCommand(ctx, w.clone.dir, w.checkedOut(), "list", "-deps", "-test", "work")
	return err
}

// tidy returns an error if go mod tidy would change a go.mod or go.sum.
func (w *workshop) tidy(ctx context.Context) error {
	for _, m := range w.modules {
		if _, err := w.goCommand(ctx, w.folder(m), w.proxies(), "mod", "tidy", "-diff"); err != nil {
			return fmt.Errorf("%s is not as go mod tidy makes it: %w", m.file("go.mod"), err)
		}
	}
	return nil
}
