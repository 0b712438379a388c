# Completion of cistern for fish. The program itself says what there is (cistern complete).
function __cistern_complete
    set -l words (commandline --tokenize --cut-at-cursor --current-process) (commandline --current-token --cut-at-cursor)
    set -l program (command --search $words[1]); or return
    switch (basename $words[1])
        case zpool zfs
            set program (realpath $program)
    end
    set -l found ($program complete -- $words 2>/dev/null)
    if set -q found[1]
        printf '%s\n' $found
    else
        # Where there is nothing else, files: of devices and images.
        __fish_complete_path $words[-1]
    end
end

complete --command cistern --no-files --arguments '(__cistern_complete)'
