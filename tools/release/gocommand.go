package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// goCommand runs the go command with settings.
func (w *workshop) goCommand(ctx context.Context, dir string, settings []string, args ...string) ([]byte, error) {
	return run(ctx, dir, w.settings(settings...), "go", args...)
}

// settings are those with which the go command has nothing of this machine but the
// build cache: another home, no workspace, and a module cache that was empty in the
// beginning. More settings say where modules come from.
func (w *workshop) settings(more ...string) []string {
	return append([]string{
		"HOME=" + filepath.Join(w.dir, "home"),
		"GOCACHE=" + w.cache,
		"GOBIN=" + filepath.Join(w.dir, "bin"),
		"GOPATH=" + filepath.Join(w.dir, "home", "go"),
		"GOMODCACHE=" + filepath.Join(w.dir, "modules"),
		"GOENV=off", "GOWORK=off", "GOTOOLCHAIN=local",
		// The build cache serves other folders, and module caches can be removed.
		"GOFLAGS=-mod=mod -trimpath -modcacherw",
		// No version is in the checksum database before it is published. The modules by
		// others were checked when they came to the cache that they are read from.
		"GOSUMDB=off", "GOPRIVATE=", "GONOPROXY=", "GONOSUMDB=", "GOINSECURE=", "GOVCS=",
	}, more...)
}

// origin are the settings with which the go command takes the clone for the public
// repository: it downloads modules from the clone's tags with git, to a module cache
// of their own.
func (w *workshop) origin() []string {
	return []string{
		"GOPROXY=direct",
		"GOMODCACHE=" + filepath.Join(w.dir, "published"),
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=url." + fileURL(w.clone.dir) + ".insteadOf",
		"GIT_CONFIG_VALUE_0=https://" + w.root,
	}
}

// from are the settings of a user of a folder that is a module proxy. Modules by others come
// from another one. The checksum database does not know ours.
func from(folder, root, others string) []string {
	return []string{"GOPROXY=" + fileURL(folder) + "," + others, "GONOSUMDB=" + root}
}

// proxies are the settings with which modules come from what origin has read and, those
// by others, from the module cache of this machine. There is no way to the network.
func (w *workshop) proxies() []string { return from(w.downloads(), w.root, w.others+",off") }

// checkedOut are the settings of a developer who has the clone as a working tree, and
// no version of its modules.
func (w *workshop) checkedOut() []string {
	return []string{"GOPROXY=" + w.others + ",off", "GOWORK=", "GOFLAGS=-mod=readonly -trimpath -modcacherw"}
}

// downloads is the folder with the modules read from the tags.
func (w *workshop) downloads() string { return filepath.Join(w.dir, "published", "cache", "download") }

func fileURL(path string) string { return "file://" + filepath.ToSlash(path) }

// surroundings returns the proxy for modules by others, which is the module cache of
// this machine, after it has everything that the clone requires, and the build cache. go mod
// tidy reads the modules of the dependencies' tests too, which go mod download leaves out.
func surroundings(ctx context.Context, w *workshop) (others, cache string, err error) {
	out, err := run(ctx, w.clone.dir, nil, "go", "env", "GOMODCACHE", "GOCACHE")
	if err != nil {
		return "", "", err
	}
	modules, cache, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	for _, m := range w.modules {
		for _, args := range [][]string{{"mod", "download"}, {"mod", "tidy", "-diff"}} {
			if _, err := run(ctx, w.folder(m), []string{"GOWORK=off"}, "go", args...); err != nil {
				return "", "", err
			}
		}
	}
	return fileURL(filepath.Join(modules, "cache", "download")), cache, nil
}
