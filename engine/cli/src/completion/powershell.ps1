# Completion of {program} for PowerShell. Load it with: {program} completion powershell | Out-String | Invoke-Expression

Register-ArgumentCompleter -Native -CommandName '{program}' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $elements = @($commandAst.CommandElements | ForEach-Object { $_.Extent.Text })
    $program = $elements[0]
    $words = @($elements | Select-Object -Skip 1)
    if ($wordToComplete -eq '') { $words += '""' }
    $out = @(& $program __complete @words 2>$null)
    foreach ($line in $out) {
        if ($line -match '^:\d+$' -or $line -eq '') { continue }
        $name, $about = $line -split "`t", 2
        if (-not $about) { $about = $name }
        [System.Management.Automation.CompletionResult]::new($name, $name, 'ParameterValue', $about)
    }
}
