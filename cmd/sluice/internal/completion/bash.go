package completion

import (
	"fmt"
	"strings"
)

func bash(b *strings.Builder, p *program) {
	var names []string
	for _, c := range p.commands {
		names = append(names, c.name)
	}
	fmt.Fprintf(b, `# bash completion for %[1]s. To load it: source <(%[1]s completion bash)

_%[1]s() {
	local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
	COMPREPLY=()
	if [[ $word == "=" ]]; then
		word=""
	elif [[ $previous == "=" ]]; then
		previous=${COMP_WORDS[COMP_CWORD-2]}
	fi
	if ((COMP_CWORD == 1)); then
		COMPREPLY=($(compgen -W "%[2]s" -- "$word"))
		return
	fi
	case ${COMP_WORDS[1]} in
`, p.name, strings.Join(names, " "))
	for i := range p.commands {
		bashCommand(b, &p.commands[i])
	}
	fmt.Fprintf(b, "\tesac\n}\ncomplete -F _%[1]s %[1]s\n", p.name)
}

func bashCommand(b *strings.Builder, c *command) {
	fmt.Fprintf(b, "\t%s)\n", c.name)
	var flags []string
	valued := false
	for _, f := range c.flags {
		flags = append(flags, "-"+f.name)
		if !f.takesValue {
			continue
		}
		if !valued {
			b.WriteString("\t\tcase $previous in\n")
			valued = true
		}
		fmt.Fprintf(b, "\t\t%s) %s; return ;;\n", strings.Join(f.spellings(), "|"), bashValues(f.values))
	}
	if valued {
		b.WriteString("\t\tesac\n")
	}
	fmt.Fprintf(b, "\t\tif [[ $word == -* ]]; then\n\t\t\t%s\n\t\telse\n\t\t\t%s\n\t\tfi\n\t\t;;\n",
		bashValues(Values{Words: flags}), bashValues(c.arguments))
}

// bashValues returns the command that offers the values.
func bashValues(v Values) string {
	switch {
	case len(v.Words) > 0:
		return fmt.Sprintf(`COMPREPLY=($(compgen -W "%s" -- "$word"))`, strings.Join(v.Words, " "))
	case v.Files:
		return `compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word")`
	case v.Directories:
		return `compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$word")`
	}
	return ":"
}
