<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Tests;

use NestjsDelayQueue\DelayQueue;
use NestjsDelayQueue\Exception\DelayQueueException;
use NestjsDelayQueue\Worker;

return [
    'the tables of options name each option with its default' => function (): void {
        foreach ([Worker::class, DelayQueue::class] as $class) {
            $short = (new \ReflectionClass($class))->getShortName();
            $told = rowsBelow("options of $short");
            $all = (new \ReflectionClass($class))->getConstructor()->getParameters();
            $parameters = array_slice($all, $class === Worker::class ? 3 : 2);
            $names = array_map(static fn ($parameter) => "`{$parameter->getName()}`", $parameters);
            same($names, array_column($told, 0), "the options of $short");
            foreach ($parameters as $i => $parameter) {
                $default = $parameter->getDefaultValue();
                $text = is_string($default) ? "`'$default'`" : json_encode($default);
                $isTold = in_array($default, [null, []], true) || $text === $told[$i][1];
                holds($isTold, "the default of $names[$i] is {$told[$i][1]} in the README");
            }
        }
    },

    'the table of exceptions names each class' => function (): void {
        $files = glob(folder() . '/src/Exception/*.php') ?: [];
        $classes = array_map(static fn ($file) => basename($file, '.php'), $files);
        $space = 'NestjsDelayQueue\\Exception\\';
        $ours = array_filter($classes, static fn ($class) => is_a($space . $class, DelayQueueException::class, true));
        $names = array_map(static fn ($class) => "`$class`", $ours);
        $told = array_column(rowsBelow('exceptions'), 0);
        same([[], []], [array_diff($names, $told), array_diff($told, $names)], 'what is missing, and what is too much');
    },

    'composer.json is as the README requires it' => function (): void {
        $own = json_decode((string) file_get_contents(folder() . '/composer.json'), true, 9, JSON_THROW_ON_ERROR);
        [$shown] = array_map(static fn ($json) => json_decode($json, true, 9, JSON_THROW_ON_ERROR), blocks('json'));
        same([$own['name']], array_keys($shown['require']), 'the package that is required');
        holds(str_contains(blocks('php')[0], $shown['repositories'][0]['url']), 'the folder is another one');
    },
];
