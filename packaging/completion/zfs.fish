# zfs is Cistern's where it leads to that program; else what fish knows of OpenZFS's is left as it is.
if string match --quiet '*/cistern' (realpath (command --search zfs) 2>/dev/null)
    type --query __cistern_complete; or source (status dirname)/cistern.fish
    complete --command zfs --no-files --arguments '(__cistern_complete)'
else if test -e $__fish_data_dir/completions/zfs.fish
    source $__fish_data_dir/completions/zfs.fish
end
