import { render } from 'preact';
import './style/theme.css';
import './style/frame.css';
import './style/parts.css';
import './style/lists.css';
import './style/tables.css';
import './style/controls.css';
import './style/charts.css';
import { Shell } from './shell.js';

const root = document.getElementById('app');
if (root) render(<Shell />, root);
