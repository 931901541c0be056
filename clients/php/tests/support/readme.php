<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

function folder(): string
{
    return dirname(__DIR__, 2);
}

function readme(): string
{
    return (string) file_get_contents(folder() . '/README.md');
}

/** @return list<string> what is in the blocks of a language */
function blocks(string $language): array
{
    preg_match_all("/^```$language\\n(.*?)^```$/ms", readme(), $blocks);
    return $blocks[1];
}

/** @return list<list<string>> the cells of the table below a comment */
function rowsBelow(string $comment): array
{
    preg_match("/<!-- $comment -->\\n\\n((?:\\|.*\\n)+)/", readme(), $table);
    $rows = array_slice(explode("\n", trim($table[1] ?? '')), 2);
    return array_map(static fn ($row) => array_map(trim(...), array_slice(explode('|', $row), 1, -1)), $rows);
}
