// Command fetch is the baseline for the first output of perksctl: a minimal cobra program that prints the response to
// one request.
package main

import (
	"io"
	"net/http"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	command := &cobra.Command{
		Use:  "fetch URL TOKEN",
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			request, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet, args[0], nil)
			if err != nil {
				return err
			}
			request.Header.Set("Authorization", "Bearer "+args[1])
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				return err
			}
			defer response.Body.Close()
			_, err = io.Copy(cmd.OutOrStdout(), response.Body)
			return err
		},
	}
	if command.Execute() != nil {
		os.Exit(1)
	}
}
