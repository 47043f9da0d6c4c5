package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	versions "golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// A repository is a working tree and its git.
type repository struct {
	dir string
	env []string // in addition to the environment
}

// openRepository returns the repository that the folder is in.
func openRepository(ctx context.Context, folder string) (repository, error) {
	top, err := repository{dir: folder}.git(ctx, "rev-parse", "--show-toplevel")
	return repository{dir: top}, err
}

// git runs git and returns what it prints, without the newline at the end.
func (r repository) git(ctx context.Context, args ...string) (string, error) {
	out, err := run(ctx, r.dir, r.env, "git", args...)
	return strings.TrimSpace(string(out)), err
}

// run runs a program and returns what it prints. The error has all output.
func run(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = dir
	command.Env = append(os.Environ(), env...)
	var out, messages bytes.Buffer
	command.Stdout, command.Stderr = &out, &messages
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("in %s: %s %s: %w\n%s%s", dir, name, strings.Join(args, " "), err, messages.Bytes(), out.Bytes())
	}
	return out.Bytes(), nil
}

// cloneTo makes a clone whose commits have the author that this repository would give
// them.
func (r repository) cloneTo(ctx context.Context, dir string) (repository, error) {
	if _, err := r.git(ctx, "clone", "--quiet", r.dir, dir); err != nil {
		return repository{}, err
	}
	name, email := "sluice release check", "release@sluice.invalid"
	if ident, err := r.git(ctx, "var", "GIT_COMMITTER_IDENT"); err == nil {
		name, email, _ = strings.Cut(ident[:strings.LastIndex(ident, "> ")], " <")
	}
	return repository{dir: dir, env: []string{
		"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + email,
		"GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + email,
	}}, nil
}

// ready returns an error unless the version can be released from here: it is new and
// higher than the last one, the tree is clean, and git has a name for commits.
func (r repository) ready(ctx context.Context, version string) error {
	if err := validVersion(version); err != nil {
		return err
	}
	changed, err := r.git(ctx, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("the working tree has uncommitted changes:\n%s", changed)
	}
	if _, err := r.git(ctx, "var", "GIT_COMMITTER_IDENT"); err != nil {
		return fmt.Errorf("git has no name and address for commits: set user.name and user.email\n%w", err)
	}
	modules, err := readModules(r.dir)
	if err != nil {
		return err
	}
	for _, m := range modules {
		if r.has(ctx, "refs/tags/"+m.tag(version)) {
			return fmt.Errorf("the tag %s exists: choose another version, or delete it if it was never pushed", m.tag(version))
		}
	}
	if r.has(ctx, "refs/heads/"+branch(version)) {
		return fmt.Errorf("the branch %s exists: delete it if it is from an earlier attempt", branch(version))
	}
	last, err := r.lastVersion(ctx)
	if err != nil {
		return err
	}
	if last != "" && semver.Compare(version, last) <= 0 {
		return fmt.Errorf("%s is not higher than %s, the last version of this branch", version, last)
	}
	return nil
}

// has reports whether the repository has a reference.
func (r repository) has(ctx context.Context, reference string) bool {
	_, err := r.git(ctx, "rev-parse", "--quiet", "--verify", reference)
	return err == nil
}

// branch is the name of the branch with the two commits of a version.
func branch(version string) string { return "release-" + version }

// validVersion returns an error unless the version is in canonical form and of a major
// version that needs no other module path.
func validVersion(version string) error {
	if semver.Canonical(version) != version || version == "" || versions.IsPseudoVersion(version) {
		return fmt.Errorf("invalid version %q (want a form such as v0.1.0 or v0.2.0-rc.1)", version)
	}
	if major := semver.Major(version); major != "v0" && major != "v1" {
		return fmt.Errorf("version %s: from v2 on, module paths must end with the major version, which this program does not do", version)
	}
	return nil
}

// lastVersion returns the highest version among the tags that HEAD contains, or "".
func (r repository) lastVersion(ctx context.Context) (last string, err error) {
	tags, err := r.git(ctx, "tag", "--merged", "HEAD", "--list", "v*")
	if err != nil {
		return "", err
	}
	for tag := range strings.FieldsSeq(tags) {
		if validVersion(tag) == nil && (last == "" || semver.Compare(tag, last) > 0) {
			last = tag
		}
	}
	return last, nil
}

// next returns the version to check after the last one.
func next(last string) string {
	if last == "" {
		return "v0.1.0"
	}
	var major, minor int
	if _, err := fmt.Sscanf(last, "v%d.%d.", &major, &minor); err != nil {
		panic("next: not a version: " + last)
	}
	return fmt.Sprintf("v%d.%d.0", major, minor+1)
}

// keep copies the modules to the folder proxy, if it is not "", and then publishes.
func (w *workshop) keep(ctx context.Context, proxy string) error {
	if proxy != "" {
		if err := os.CopyFS(proxy, os.DirFS(w.downloads())); err != nil {
			return err
		}
		fmt.Printf("%s has the modules. To use them:\n\texport %s\n", proxy, strings.Join(from(proxy, w.root, "https://proxy.golang.org,direct"), " "))
	}
	return w.publish(ctx)
}

// publish adds the tags and the branch to the source, all or none.
func (w *workshop) publish(ctx context.Context) error {
	args := []string{"fetch", "--quiet", "--atomic", "--no-tags", w.clone.dir, "HEAD:refs/heads/" + branch(w.version)}
	for _, m := range w.modules {
		reference := "refs/tags/" + m.tag(w.version)
		args = append(args, reference+":"+reference)
	}
	_, err := w.source.git(ctx, args...)
	return err
}

// write writes a file of the repository.
func (r repository) write(name string, text []byte) error {
	return os.WriteFile(filepath.Join(r.dir, filepath.FromSlash(name)), text, 0o666)
}

// change replaces a file of the repository by what edit makes of it.
func (r repository) change(name string, edit func(text []byte) ([]byte, error)) error {
	text, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(name)))
	if err == nil {
		text, err = edit(text)
	}
	if err != nil {
		return err
	}
	return r.write(name, text)
}
