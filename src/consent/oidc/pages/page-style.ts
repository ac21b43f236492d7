import { inline } from '../../../http/pages/html.js'

export const pageStyle = inline(`
h2, legend { padding: 0; font-size: 14px; font-weight: 600; }
ul { margin-top: 6px; padding: 0; list-style: none; border-top: 1px solid var(--line); }
li { padding: 10px 0; border-bottom: 1px solid var(--line); }
fieldset { min-width: 0; padding: 0; border: 0; }
.choice { display: flex; align-items: center; gap: 10px; min-height: 44px; margin: 0; font-size: 16px; font-weight: 400; }
legend ~ .muted { margin-bottom: 4px; }
.onward a {
  display: block; padding: 12px 16px; border: 1px solid var(--edge); border-radius: 10px;
  font-weight: 600; text-align: center; text-decoration: none; overflow-wrap: anywhere;
}
input[type=radio] { flex: none; width: 20px; height: 20px; margin: 0; accent-color: var(--primary); }
`)
