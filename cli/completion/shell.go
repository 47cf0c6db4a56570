package completion

import (
	"bytes"
	"errors"
	"io"

	"github.com/spf13/cobra"
)

// installation is how each shell is taught for good. The lines are run by the tests as they stand.
const installation = `  mkdir -p ~/.local/share/bash-completion/completions && perksctl completion bash > ~/.local/share/bash-completion/completions/perksctl
  mkdir -p ~/.zfunc && perksctl completion zsh > ~/.zfunc/_perksctl && echo 'fpath=(~/.zfunc $fpath); autoload -Uz compinit; compinit' >> ~/.zshrc
  mkdir -p ~/.config/fish/completions && perksctl completion fish > ~/.config/fish/completions/perksctl.fish
  perksctl completion powershell >> $PROFILE`

func shells() []string { return []string{"bash", "zsh", "fish", "powershell"} }

// generator returns what writes the script of a shell, with descriptions, or nil for a shell that is not known.
func generator(root *cobra.Command, shell string) func(io.Writer) error {
	switch shell {
	case "bash":
		return func(w io.Writer) error { return root.GenBashCompletionV2(w, true) }
	case "zsh":
		return root.GenZshCompletion
	case "fish":
		return func(w io.Writer) error { return generateFish(root, w) }
	case "powershell":
		return root.GenPowerShellCompletionWithDesc
	}
	return nil
}

// generateFish corrects a line of cobra's script, which takes a value such as --sort=title for a flag of its own.
func generateFish(root *cobra.Command, w io.Writer) error {
	const wrong, right = `string split --max 1 \t $`, `string split --max 1 -- \t $`
	var text bytes.Buffer
	if err := root.GenFishCompletion(&text, true); err != nil {
		return err
	}
	if bytes.Count(text.Bytes(), []byte(wrong)) != 1 {
		return errors.New("the script for fish has changed: see whether it still has to be corrected")
	}
	_, err := w.Write(bytes.Replace(text.Bytes(), []byte(wrong), []byte(right), 1))
	return err
}
