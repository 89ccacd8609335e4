package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/settings"
	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
	"github.com/jackline-ai/jackline/store/vault"
)

func (m *Main) keyCmd() *cobra.Command {
	places := []string{string(vault.InFile), string(vault.InKeyring)}
	return &cobra.Command{
		Use: "key [file|keyring]", Short: "Where the key of the data is kept",
		Long: "Keys of engines, exact arguments, results and attachments are stored encrypted. The key to them lies beside them, in a file\n" +
			"that only you can read, or in the keyring of the system: then a copy of the data folder, such as a backup, opens none of\n" +
			"them, for others as for you, without that keyring. What the pages show of prompts and answers is not encrypted. A keyring\n" +
			"needs a desktop session that is unlocked, so a server that starts without a login needs the file. Programs that run go\n" +
			"on while the key is moved.",
		Args: cobra.MaximumNArgs(1), ValidArgs: places,
		RunE: func(_ *cobra.Command, args []string) error {
			conf, err := settings.Load(m.Env, m.flags)
			if err != nil {
				return &terminal.Exit{Code: terminal.ExitUsage, Err: err}
			}
			dir := conf.Places.Data
			if len(args) > 0 {
				if !slices.Contains(places, args[0]) {
					return terminal.Usage("the key can be kept in the file or in the keyring, not in %q", args[0])
				}
				if err := vault.MoveKey(dir, vault.Place(args[0])); err != nil {
					return err
				}
			}
			place, err := vault.KeyPlace(dir)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return jackline.E("key", jackline.NotFound, err, "There is no key in %s yet: start Jackline once.", dir)
			case err != nil:
				return jackline.E("key", jackline.Unavailable, err, "The key file in %s cannot be read.", dir)
			case place == vault.InKeyring:
				fmt.Fprintln(m.Out, "The key is in the keyring of this system.")
			default:
				fmt.Fprintf(m.Out, "The key is in the file %s in %s.\n", vault.FileKey, dir)
			}
			return nil
		},
	}
}
