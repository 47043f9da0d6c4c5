package page

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Build builds a program, such as ./service, of the module in a folder.
func Build(ctx context.Context, module, program, to string) error {
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=auto", "-o", to, program)
	build.Dir, build.Env = module, append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", program, err, out)
	}
	return nil
}

// Serve starts a program whose first line of output is the address of its page. stop
// kills the program.
func Serve(ctx context.Context, path string, args ...string) (address string, stop func(), err error) {
	program := exec.CommandContext(ctx, path, args...)
	program.Stderr = os.Stderr
	output, err := program.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := program.Start(); err != nil {
		return "", nil, err
	}
	stop = func() { _ = program.Process.Kill(); _ = program.Wait() }
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("%s printed no address: %w", path, err)
	}
	return strings.TrimSpace(line), stop, nil
}
